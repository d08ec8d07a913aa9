import { createClient } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";

import { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { startTestServer } from "./test-service.ts";
import { listenFor, ways } from "./transports.ts";

test.each(ways)(
  "by $name: each call that was answered has ended, and is logged once; checks of the health are not",
  async ({ open, ...way }) => {
    const { log, lines } = capturingLogger("info");
    const { server } = await startTestServer({ ...listenFor(way), log });
    const transport = open(server.url, "alice");
    onTestFinished(() => transport.close?.());
    const client = createClient(TestService, transport);
    await client.echo({ text: "milk" });
    for await (const _answer of client.count({ last: 3 })) continue;
    await createClient(Health, transport).check({});
    await transport.close?.();
    // A call that has not ended would be waited for, and then logged as given up.
    await server.stop(2_000);
    expect(lines.filter(({ msg }) => msg === "call").map((line) => line["code"])).toEqual(["ok", "ok"]);
  },
);
