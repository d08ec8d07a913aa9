import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, request as httpRequest } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import { createServer as createHttpsServer, request as httpsRequest } from "node:https";
import type { AddressInfo, Socket } from "node:net";

import { createClient } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";

import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";
import { boundConnections } from "../../../services/kit/server/connection-places.ts";
import { openTlsFiles } from "../../../services/kit/tls/tls-files.ts";
import { createAuthority } from "../../support/certificates.ts";
import { eventually } from "../../support/eventually.ts";
import type { Listener } from "../../support/idle-connections.ts";
import { askOnce, idleKinds, openConnection } from "../../support/idle-connections.ts";
import { sendRaw } from "../../support/raw-request.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startTestServer } from "./test-service.ts";

const placesMax = 4;

const certificates = async () => {
  const authority = await createAuthority(await temporaryDirectory());
  return authority.certify("server");
};

const startService = async (isSecure: boolean): Promise<Listener> => {
  const paths = isSecure ? { ...(await certificates()), authority: "" } : undefined;
  const tls = paths && { source: openTlsFiles(paths, systemClock, silentLogger) };
  const { server } = await startTestServer({ limits: { connectionsMax: placesMax }, ...(tls && { tls }) });
  onTestFinished(() => server.stop(0));
  return { port: server.port, isSecure };
};

/** A plain server of the platform, as the gateway is one. */
const startPlain = async (isSecure: boolean): Promise<Listener> => {
  const files = isSecure ? await certificates() : undefined;
  const server: Server = files
    ? createHttpsServer({ cert: await readFile(files.certificate), key: await readFile(files.key) })
    : createServer();
  boundConnections(server, placesMax);
  server.on("request", (request, response) => {
    if (request.url === "/healthz") response.end("SERVING\n");
    else response.write("the first of many");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, isSecure };
};

/** The status that a new caller gets; undefined: its connection was closed. */
const call = async ({ port, isSecure }: Listener): Promise<number | undefined> => {
  const request = isSecure ? httpsRequest : httpRequest;
  const options = { host: "127.0.0.1", port, path: "/healthz", agent: false, rejectUnauthorized: false };
  const outgoing = request(options).end();
  try {
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    answer.resume();
    await once(answer, "end");
    return answer.statusCode;
  } catch {
    return undefined;
  }
};

const starts = { service: startService, "server of the platform": startPlain };

describe.each([
  ["service", false],
  ["service", true],
  ["server of the platform", false],
  ["server of the platform", true],
] as const)("a %s, TLS: %s, whose places are all taken", (name, isSecure) => {
  const cases = Object.entries(idleKinds[name === "service" ? "http2" : "http1"]);

  test.each(cases)("serves a new caller in the place of the oldest connection: of those %s", async (_kind, occupy) => {
    const listener = await starts[name](isSecure);
    const taken: Socket[] = [];
    while (taken.length < placesMax) taken.push(await occupy(listener));
    expect(await call(listener)).toBe(200);
    await eventually(() => taken[0]?.closed, "the oldest is closed");
    expect(taken.map(({ closed }) => closed)).toEqual([true, false, false, false]);
  });

  test("closes one that has sent no request before one that was answered, and this before one used later", async () => {
    const listener = await starts[name](isSecure);
    const occupy = idleKinds.http1["that were answered"];
    const taken = [await occupy(listener), await occupy(listener), await occupy(listener)];
    taken.push(await idleKinds.http1["that send nothing"](listener));
    await askOnce(taken[0]!);
    expect(await call(listener)).toBe(200);
    await eventually(() => taken[3]?.closed, "the silent one is closed");
    await occupy(listener);
    await occupy(listener);
    await eventually(() => taken[1]?.closed, "the one that was idle for longest is closed");
    expect(taken.map(({ closed }) => closed)).toEqual([false, true, false, true]);
  });

  test("closes a new connection while a request runs on each, and serves one when a request has ended", async () => {
    const listener = await starts[name](isSecure);
    const taken: Socket[] = [];
    while (taken.length < placesMax) {
      const socket = await openConnection(listener);
      taken.push(socket);
      socket.write(endless);
      await once(socket, "data");
      socket.pause();
    }
    expect(await call(listener)).toBeUndefined();
    expect(taken.map(({ closed }) => closed)).toEqual([false, false, false, false]);
    taken[0]?.destroy();
    await eventually(async () => (await call(listener)) === 200, "a place is free");
  });
});

/** A request whose answer does not end: a terabyte of the service, in one message of a stream. */
const endless = Buffer.concat([
  Buffer.from(
    [
      "POST /quartet.test.v1.TestService/Download HTTP/1.1",
      "host: test",
      "content-type: application/connect+proto",
      "authorization: Bearer alice",
      "content-length: 12",
      "",
      "",
    ].join("\r\n"),
  ),
  // A frame of seven bytes: the member size_bytes with 2^40.
  Buffer.from([0, 0, 0, 0, 7, 8, 128, 128, 128, 128, 128, 32]),
]);

test("a tunnel that is counted keeps its place", async () => {
  const server = createServer();
  const places = boundConnections(server, 1);
  server.on("upgrade", (request, socket) => {
    places.begin(request.socket);
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const listener = { port: (server.address() as AddressInfo).port, isSecure: false };
  const tunnel = await openConnection(listener);
  tunnel.write("GET / HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
  await once(tunnel, "data");
  expect(await call(listener)).toBeUndefined();
  expect(tunnel.closed).toBe(false);
});

test("connections over a unix socket take no places", async () => {
  const socketPath = `${await temporaryDirectory()}/service.sock`;
  const { server } = await startTestServer({ limits: { connectionsMax: 1 }, socketPath });
  onTestFinished(() => server.stop(0));
  const transports = [`unix:${socketPath}`, `unix:${socketPath}`, server.url].map((address) =>
    createTransport({ address, engine: "connect", token: async () => "alice" }),
  );
  const texts = await Promise.all(
    transports.map(async (transport) => (await createClient(TestService, transport).echo({ text: "here" })).text),
  );
  expect(texts).toEqual(["here", "here", "here"]);
  await Promise.all(transports.map((transport) => transport.close()));
});

test.each([
  ["unknown", "417 Expectation Failed"],
  ["100-continue", "100 Continue"],
])("a server of requests alone leaves the expectation %s to the platform", async (expectation, status) => {
  const { port } = await startPlain(false);
  const head = `GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: ${expectation}\r\nConnection: close\r\n\r\n`;
  expect(await sendRaw(port, head)).toMatch(new RegExp(`^HTTP/1\\.1 ${status}\\r\\n`));
});
