import { connect } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { systemClock } from "../../services/kit/clock/clock.ts";
import { openTlsFiles } from "../../services/kit/tls/tls-files.ts";
import { createAuthority } from "../support/certificates.ts";
import { eventually } from "../support/eventually.ts";
import { openHalf } from "../support/half-open.ts";
import { heldConnections } from "../support/idle-connections.ts";
import { silentLogger } from "../support/silent-logger.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { startFixture } from "./support/fixture.ts";

test("the main port closes connections whose peers do not finish their handshake", async () => {
  const files = await (await createAuthority(await temporaryDirectory())).certify("server");
  const certificate = openTlsFiles({ ...files, authority: "" }, systemClock, silentLogger);
  const fixture = await startFixture({ headersTimeoutMs: 1_000 }, { certificate });
  onTestFinished(() => fixture.stop());
  const port = Number(new URL(fixture.url).port);
  const held = async (): Promise<number> => (await heldConnections(port)).size;
  await openHalf(port);
  expect(await held()).toBe(7);
  await eventually(async () => (await held()) === 0, "all are closed");
});

test("connections that nobody uses keep no health check out of the admin port", async () => {
  const fixture = await startFixture();
  onTestFinished(() => fixture.stop());
  const port = Number(new URL(fixture.adminUrl).port);
  for (let count = 0; count < 300; count += 1) {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
  }
  await eventually(async () => (await heldConnections(port)).size === 256, "all places are taken");
  expect((await fetch(`${fixture.adminUrl}/livez`)).status).toBe(200);
});
