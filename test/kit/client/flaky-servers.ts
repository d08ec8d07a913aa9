import { once } from "node:events";
import { createServer } from "node:http";
import { constants, createServer as createHttp2Server } from "node:http2";
import type { ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What a server does with one call. */
export type Conduct =
  | "answer"
  | "answer twice"
  | "answer garbage"
  | "answer as text"
  | "die"
  | "unavailable"
  | "unprocessed"
  | "refuse stream"
  | "go away";

/**
 * A server that answers every method with an empty message, or misbehaves as specified for one call after the other.
 */
export interface FlakyServer {
  readonly address: string;
  /** How many calls came. */
  readonly calls: () => number;
}

/** Behaves in the given ways, then in the last of them for ever. */
export const startFlakyServer = (engine: "connect" | "grpc", ...conducts: readonly Conduct[]): Promise<FlakyServer> =>
  engine === "connect" ? startConnect(conducts) : startGrpc(conducts);

const conductOf = (conducts: readonly Conduct[], call: number): Conduct =>
  conducts[call] ?? conducts.at(-1) ?? "answer";

const startConnect = async (conducts: readonly Conduct[]): Promise<FlakyServer> => {
  let calls = 0;
  const server = createServer((request, response) => {
    const conduct = conductOf(conducts, calls);
    calls += 1;
    if (conduct === "die") {
      request.once("data", () => request.socket.destroy());
      return;
    }
    request.resume();
    if (conduct.startsWith("answer")) {
      const type = conduct === "answer as text" ? "text/plain" : "application/proto";
      response.writeHead(200, { "content-type": type }).end(conduct === "answer garbage" ? "\xff\xff" : "");
    } else {
      const mark = conduct === "unprocessed" ? { "x-call-unprocessed": "true" } : {};
      response.writeHead(503, { "content-type": "application/json", ...mark }).end('{"code":"unavailable"}');
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls: () => calls };
};

const startGrpc = async (conducts: readonly Conduct[]): Promise<FlakyServer> => {
  let calls = 0;
  const server = createHttp2Server();
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {});
  });
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    const conduct = conductOf(conducts, calls);
    calls += 1;
    if (conduct === "die") stream.once("data", () => stream.session?.destroy());
    else if (conduct === "refuse stream") stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else if (conduct === "go away") {
      // The last stream that it says to have handled is the one before this one.
      stream.session?.goaway(constants.NGHTTP2_NO_ERROR, (stream.id ?? 0) - 2);
    } else answerGrpc(stream, conduct);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const session of sessions) session.destroy();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls: () => calls };
};

const answerGrpc = (stream: ServerHttp2Stream, conduct: Conduct): void => {
  stream.resume();
  const head = { ":status": 200, "content-type": "application/grpc+proto" };
  if (conduct.startsWith("answer")) {
    stream.respond(head, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    // A frame that says that it is compressed, in a stream that names no compression.
    if (conduct === "answer garbage") stream.end(Buffer.from([1, 0, 0, 0, 1, 0xff]));
    else stream.end(Buffer.alloc(conduct === "answer twice" ? 10 : 5));
  } else {
    const mark = conduct === "unprocessed" ? { "x-call-unprocessed": "true" } : {};
    stream.respond({ ...head, "grpc-status": "14", ...mark }, { endStream: true });
  }
};
