import { createClient } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";

import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { eventually } from "../../support/eventually.ts";
import { heldConnections } from "../../support/idle-connections.ts";
import { startTestServer } from "../server/test-service.ts";

test.each(["connect", "grpc"] as const)("the %s engine closes its connections", async (engine) => {
  const { server } = await startTestServer();
  onTestFinished(() => server.stop(0));
  const transport = createTransport({ address: server.url, engine, token: async () => "alice" });
  await createClient(TestService, transport).echo({});
  expect((await heldConnections(server.port)).size).toBe(1);
  await transport.close();
  await eventually(async () => (await heldConnections(server.port)).size === 0, "the server sees the end", 5_000);
});
