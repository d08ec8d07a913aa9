import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { TLSSocket } from "node:tls";
import { text } from "node:stream/consumers";

import { expect, test } from "vitest";

import { openTlsFiles } from "../../../services/kit/tls/tls-files.ts";
import { createAuthority } from "../../support/certificates.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { sendRaw } from "../../support/raw-request.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { Answering } from "../backend.ts";
import { startProxied } from "./proxied.ts";

/** An application whose proxy speaks HTTPS, and what verifies it. */
const startSecure = async (listener?: Answering) => {
  const directory = await temporaryDirectory();
  const authority = await createAuthority(directory);
  const files = await authority.certify("proxy");
  const clock = new FakeClock();
  const proxyCertificate = openTlsFiles({ ...files, authority: "" }, clock, silentLogger);
  const proxied = await startProxied(listener, { proxyCertificate, clock });
  return { ...proxied, authority, clock, ca: await readFile(authority.file, "utf8") };
};

test("a request by HTTPS reaches its service, which is told so", async () => {
  const { url, ca } = await startSecure((request, response) => response.end(JSON.stringify(request.headers)));
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\//);
  const sent = httpsRequest(`${url}/a`, { ca, agent: false }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const headers = JSON.parse(await text(answer)) as IncomingHttpHeaders;
  expect([answer.statusCode, headers["x-forwarded-proto"]]).toEqual([200, "https"]);
});

test("a WebSocket is tunnelled, and any other upgrade is ignored", async () => {
  const { url, ca, backend } = await startSecure();
  backend.server.on("upgrade", (_request, socket) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello");
  });
  const upgrade = (to: string) =>
    httpsRequest(url, { ca, agent: false, headers: { connection: "Upgrade", upgrade: to } });
  const tunnelled = upgrade("websocket").end();
  const [, socket, head] = (await once(tunnelled, "upgrade")) as [IncomingMessage, TLSSocket, Buffer];
  const first = head.length > 0 ? head : ((await once(socket, "data")) as [Buffer])[0];
  expect(first.toString()).toBe("hello");
  socket.destroy();
  const ignored = upgrade("h2c").end();
  const [answer] = (await once(ignored, "response")) as [IncomingMessage];
  expect([answer.statusCode, await text(answer)]).toEqual([200, "monolith GET /"]);
});

test("a request by plain HTTP is told what the port speaks", async () => {
  const { workspace } = await startSecure();
  const answer = await sendRaw(workspace.proxy.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*This port speaks HTTPS: use an https:\/\/ address\.\n$/);
});
