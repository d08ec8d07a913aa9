import { expect, onTestFinished, test } from "vitest";

import { systemClock } from "../../../services/kit/clock/clock.ts";
import { openTlsFiles } from "../../../services/kit/tls/tls-files.ts";
import { createAuthority } from "../../support/certificates.ts";
import { eventually } from "../../support/eventually.ts";
import { heldConnections, idleKinds } from "../../support/idle-connections.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startTestServer } from "./test-service.ts";

const limits = { headersTimeoutMs: 2_000, idleTimeoutMs: 2_000, lingerMs: 200 };

test.each([false, true])(
  "a server closes all idle connections, also those whose peers do not read; TLS: %s",
  async (isSecure) => {
    const files = isSecure ? await (await createAuthority(await temporaryDirectory())).certify("server") : undefined;
    const tls = files && { source: openTlsFiles({ ...files, authority: "" }, systemClock, silentLogger) };
    const { server } = await startTestServer({ limits, ...(tls && { tls }) });
    onTestFinished(() => server.stop(0));
    const held = async (): Promise<number> => (await heldConnections(server.port)).size;

    const kinds = Object.values(idleKinds.http2);
    for (const occupy of kinds) {
      await occupy({ port: server.port, isSecure });
      (await occupy({ port: server.port, isSecure })).pause();
    }
    expect(await held()).toBeGreaterThan(0);
    await eventually(async () => (await held()) === 0, "all are closed");
  },
);

test.each([false, true])("a server closes connections that their peers have closed; TLS: %s", async (isSecure) => {
  const files = isSecure ? await (await createAuthority(await temporaryDirectory())).certify("server") : undefined;
  const tls = files && { source: openTlsFiles({ ...files, authority: "" }, systemClock, silentLogger) };
  const { server } = await startTestServer({ ...(tls && { tls }) });
  onTestFinished(() => server.stop(0));
  const held = async (): Promise<number> => (await heldConnections(server.port)).size;

  for (const occupy of Object.values(idleKinds.http2)) (await occupy({ port: server.port, isSecure })).end();
  // Of those that only time would end, the first have 20 seconds.
  await expect.poll(held, { timeout: 5_000 }).toBe(0);
});
