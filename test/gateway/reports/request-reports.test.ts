import { generateKeyPairSync } from "node:crypto";

import { createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";

import { RequestReportService } from "../../../gen/quartet/kit/report/v1/request_report_service_pb.ts";
import { RequestReports } from "../../../gateway/reports/request-reports.ts";
import { createMinter } from "../../../services/kit/identity/tokens.ts";
import { createMetrics } from "../../../services/kit/metrics/metrics.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";

test("as many reports wait as are allowed, and are sent in calls of five hundred; a further one is dropped and counted", async () => {
  const calls: number[] = [];
  const transport = createRouterTransport(({ service }) =>
    service(RequestReportService, {
      reportRequests: ({ reports }) => {
        calls.push(reports.length);
        return {};
      },
    }),
  );
  const clock = new FakeClock();
  const metrics = createMetrics();
  const minter = createMinter({ keyPair: { name: "gateway", ...generateKeyPairSync("ed25519") }, clock });
  const reports = new RequestReports({ transport, audience: "photos", minter, clock, log: silentLogger, metrics });
  for (let count = 0; count < 10_000; count += 1) reports.add({});
  expect((await metrics.page()).body).toContain("request_reports_dropped 0");
  reports.add({});
  expect((await metrics.page()).body).toContain("request_reports_dropped 1");
  await reports.flush();
  expect(calls).toEqual(Array.from({ length: 20 }, () => 500));
});
