import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { heldConnections, idleKinds, openConnection } from "../support/idle-connections.ts";
import { startFixture } from "./support/fixture.ts";

test("the gateway closes all idle connections, also those whose peers neither read nor close", async () => {
  const fixture = await startFixture({ headersTimeoutMs: 2_000, idleTimeoutMs: 2_000 });
  onTestFinished(() => fixture.stop(0));
  const listener = { port: Number(new URL(fixture.url).port), isSecure: false };
  const held = async (): Promise<number> => (await heldConnections(listener.port)).size;

  const broken = async () => {
    const socket = (await openConnection(listener)).resume();
    socket.write("no request at all\r\n\r\n");
    return socket;
  };
  for (const occupy of [...Object.values(idleKinds.http1), broken]) {
    await occupy(listener);
    (await occupy(listener)).pause();
  }
  expect(await held()).toBeGreaterThan(0);
  await eventually(async () => (await held()) === 0, "all are closed");
});
