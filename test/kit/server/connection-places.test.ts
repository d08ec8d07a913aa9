import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, request as httpRequest } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { createServer as createHttpsServer, request as httpsRequest } from "node:https";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { createClient } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";

import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";
import { boundConnections } from "../../../services/kit/server/connection-places.ts";
import { openTlsFiles } from "../../../services/kit/tls/tls-files.ts";
import { createAuthority } from "../../support/certificates.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startTestServer } from "./test-service.ts";

const placesMax = 4;

/** A server with few places. */
interface Listener {
  readonly port: number;
  readonly isSecure: boolean;
}

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

/** Opens a connection that is closed when the test ends; by TLS where the server wants it. */
const open = async ({ port, isSecure }: Listener, protocol = "http/1.1"): Promise<Socket> => {
  const host = "127.0.0.1";
  const socket = isSecure
    ? connectTls({ host, port, rejectUnauthorized: false, ALPNProtocols: [protocol] })
    : connect({ host, port });
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, isSecure ? "secureConnect" : "connect");
  return socket;
};

const get = async (socket: Socket, path: string): Promise<void> => {
  socket.write(`GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`);
  await once(socket, "data");
};

const kinds: Readonly<Record<string, (listener: Listener) => Promise<Socket>>> = {
  "that send nothing": async (listener) => {
    const socket = await open({ ...listener, isSecure: false });
    socket.resume();
    return socket;
  },
  "that stop in a header": async (listener) => {
    const socket = await open(listener);
    socket.resume().write("GET /healthz HTTP/1.1\r\nhost:");
    return socket;
  },
  "that were answered": async (listener) => {
    const socket = await open(listener);
    await get(socket, "/healthz");
    return socket.resume();
  },
};

const http2Kind = async (listener: Listener): Promise<Socket> => {
  const socket = await open(listener, "h2");
  const session = connectHttp2(`http://127.0.0.1:${listener.port}`, { createConnection: () => socket });
  session.on("error", () => undefined);
  const stream = session.request({ ":path": "/healthz" }).resume();
  await once(stream, "end");
  return socket;
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
  const cases = Object.entries(name === "service" ? { ...kinds, "of HTTP/2": http2Kind } : kinds);

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
    const occupy = kinds["that were answered"]!;
    const taken = [await occupy(listener), await occupy(listener), await occupy(listener)];
    taken.push(await kinds["that send nothing"]!(listener));
    await get(taken[0]!, "/healthz");
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
      const socket = await open(listener);
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
