import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";

import { RequestReportService } from "../../../gen/quartet/kit/report/v1/request_report_service_pb.ts";
import type { NewReport } from "../../../gateway/reports/request-reports.ts";
import { RequestReports } from "../../../gateway/reports/request-reports.ts";
import { createMetrics } from "../../../services/kit/metrics/metrics.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";

/** Reports to a service that answers with these refusals first. */
const start = (...refusals: readonly Code[]) => {
  const open = [...refusals];
  const received: number[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(RequestReportService, {
      reportRequests: ({ reports }) => {
        const code = open.shift();
        if (code !== undefined) throw new ConnectError("not now", code);
        received.push(reports.length);
        return {};
      },
    });
  });
  const [clock, metrics] = [new FakeClock(), createMetrics()];
  const minter = { mint: async () => "token" };
  const options = { transport, audience: "object-storage", minter, clock, log: silentLogger, metrics };
  const reports = new RequestReports(options);
  const add = (count: number, texts: NewReport = {}): void => {
    for (let each = 0; each < count; each += 1) reports.add(texts);
  };
  const dropped = async (): Promise<string | undefined> =>
    /^request_reports_dropped (\d+)$/m.exec((await metrics.page()).body)?.[1];
  return { reports, clock, add, received, dropped };
};

test("reports of one second are sent together, at most 500 in a call", async () => {
  const { add, clock, received, dropped } = start();
  add(501);
  clock.advance(999);
  expect(received).toEqual([]);
  clock.advance(1);
  await eventually(() => received.length === 2, "the reports are sent");
  expect([received, await dropped()]).toEqual([[500, 1], "0"]);
});

test("reports that 10,000 others wait before are dropped", async () => {
  const { reports, add, received, dropped } = start();
  add(10_001);
  expect(await dropped()).toBe("1");
  await reports.flush();
  expect(received).toEqual(Array.from({ length: 20 }, () => 500));
});

// 32 KB of headers each, as anybody may send them: 500 of these are 32 MB, and no service takes more than 4 in a call.
const long = {
  target: "t".repeat(8_192),
  host: "h".repeat(8_192),
  referer: "r".repeat(8_192),
  userAgent: "u".repeat(8_192),
};

test("reports of long requests are sent in calls of at most a megabyte", async () => {
  const { reports, add, received, dropped } = start();
  add(100, long);
  add(10);
  await reports.flush();
  expect([received, await dropped()]).toEqual([[15, 15, 15, 15, 15, 15, 20], "0"]);
});

test("reports of long requests wait up to 32 MB, and there is room again when they were sent", async () => {
  const { reports, add, received, dropped } = start();
  add(600, long);
  expect(await dropped()).toBe("92");
  await reports.flush();
  add(508, long);
  await reports.flush();
  expect([received.reduce((sum, count) => sum + count, 0), await dropped()]).toEqual([1_016, "92"]);
});

test.each([
  // how often the service refuses, what it receives, what is dropped
  [2, [1], "0"],
  [3, [], "1"],
])("a report that is refused %d times arrives or is dropped", async (times, expected, lost) => {
  const { reports, add, received, dropped } = start(...Array.from({ length: times }, () => Code.Unavailable));
  add(1);
  await reports.flush();
  expect([received, await dropped()]).toEqual([expected, lost]);
});
