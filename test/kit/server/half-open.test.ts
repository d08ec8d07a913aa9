import { once } from "node:events";
import { connect as connectTls } from "node:tls";

import { expect, onTestFinished, test } from "vitest";

import { systemClock } from "../../../services/kit/clock/clock.ts";
import { openTlsFiles } from "../../../services/kit/tls/tls-files.ts";
import { createAuthority } from "../../support/certificates.ts";
import { eventually } from "../../support/eventually.ts";
import { openHalf } from "../../support/half-open.ts";
import { heldConnections } from "../../support/idle-connections.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { closing, endHeaders, frame, frames, grpcCall, headerBlock } from "./raw-http2.ts";
import { startTestServer } from "./test-service.ts";

const startSecure = async (limits: object) => {
  const files = await (await createAuthority(await temporaryDirectory())).certify("server");
  const source = openTlsFiles({ ...files, authority: "" }, systemClock, silentLogger);
  const { server } = await startTestServer({ limits, tls: { source } });
  onTestFinished(() => server.stop(0));
  return server;
};

test("a server closes connections whose peers do not finish their handshake, and serves others meanwhile", async () => {
  const server = await startSecure({ headersTimeoutMs: 1_000 });
  await openHalf(server.port);
  const held = async (): Promise<number> => (await heldConnections(server.port)).size;
  expect(await held()).toBe(7);
  const socket = connectTls({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false });
  socket.write("GET /livez HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
  await once(socket.resume(), "close");
  expect(socket.bytesRead).toBeGreaterThan(0);
  await eventually(async () => (await held()) === 0, "all are closed");
});

test("an address is shut out whose connections flood by TLS, before the next handshake", async () => {
  const server = await startSecure({ floodsPerMinuteMax: 1 });
  const open = async () => {
    const socket = connectTls({
      port: server.port,
      host: "127.0.0.1",
      localAddress: "127.0.0.2",
      rejectUnauthorized: false,
      ALPNProtocols: ["h2"],
    } as object);
    socket.on("error", () => {});
    await Promise.race([once(socket, "secureConnect").catch(() => {}), closing(socket)]);
    return socket.resume();
  };
  const resets = Array.from({ length: 1_500 }, (_, at) => {
    const stream = 2 * at + 1;
    const { authorization: _token, ...stranger } = grpcCall("Upload");
    const opened = frame(frames.headers, endHeaders, stream, headerBlock(stranger));
    return Buffer.concat([opened, frame(frames.reset, 0, stream, Buffer.from([0, 0, 0, 8]))]);
  });
  const waiting = await open();
  for (let flood = 0; flood < 2; flood += 1) {
    const socket = await open();
    const closed = closing(socket);
    socket.write(
      Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(frames.settings, 0, 0), ...resets]),
    );
    await closed;
  }
  await eventually(() => waiting.closed, "the other connection is closed");
  expect((await open()).getProtocol()).toBe(null);
});
