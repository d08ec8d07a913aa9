import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { Writable } from "node:stream";

import { Code, createClient } from "@connectrpc/connect";
import { pino } from "pino";
import { afterEach, describe, expect, test, vi } from "vitest";

import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import type { ServerLimits } from "../../../services/kit/server/limits.ts";
import type { RunningServer } from "../../../services/kit/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import {
  ack,
  closing,
  connectRaw,
  endHeaders,
  endStream,
  frame,
  frames,
  grpcCall,
  headerBlock,
  setting,
} from "./raw-http2.ts";
import { startTestServer } from "./test-service.ts";
import type { Way } from "./transports.ts";
import { listenFor, ways } from "./transports.ts";

let server: RunningServer;
/** Code of each call that ended, in order. */
let codes: unknown[] = [];

const start = async (limits: Partial<ServerLimits>, way: Pick<Way, "isLocal"> = {}): Promise<void> => {
  codes = [];
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      codes.push((JSON.parse(chunk.toString()) as { code: unknown }).code);
      done();
    },
  });
  ({ server } = await startTestServer({ limits, log: pino({ level: "info" }, sink), ...listenFor(way) }));
};
afterEach(async () => {
  vi.useRealTimers();
  await server.stop(0);
});

/** How long an HTTP/2 stream may stall. The server checks streams four times within this. */
const stallTimeoutMs = 1000;

/**
 * Starts a server whose checks of HTTP/2 streams are made by the test, one each time the returned function is called.
 */
const startWithChecks = async (): Promise<() => void> => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  await start({ stallTimeoutMs });
  return () => void vi.advanceTimersByTime(stallTimeoutMs / 4);
};

/** Writes a byte every few milliseconds until the connection is closed. */
const trickle = async (socket: Socket, byte: string): Promise<void> => {
  socket.on("error", () => {});
  socket.resume();
  const timer = setInterval(() => socket.writable && socket.write(byte), 5);
  await closing(socket);
  clearInterval(timer);
};

describe("a connection is closed whose headers", () => {
  test("trickle in over HTTP/1.1", async () => {
    await start({ headersTimeoutMs: 100 });
    const socket = connect(server.port, "127.0.0.1");
    socket.write("POST /quartet.test.v1.TestService/Echo HTTP/1.1\r\nx-slow: ");
    await trickle(socket, "x");
    expect(socket.bytesWritten).toBeLessThan(1000);
  });

  test("stop halfway over HTTP/2", async () => {
    await start({ idleTimeoutMs: 100, lingerMs: 100 });
    const socket = await connectRaw(server.port);
    socket.write(frame(frames.headers, 0, 1, headerBlock(grpcCall("Echo"))));
    socket.resume();
    await closing(socket);
    expect(codes).toEqual([]);
  });
});

describe("a request whose message does not arrive in time is refused", () => {
  const post = async (type: string, method: string, send: (outgoing: ReturnType<typeof httpRequest>) => void) => {
    const headers = { "content-type": type, authorization: "Bearer alice" };
    const url = `${server.url}/quartet.test.v1.TestService/${method}`;
    const outgoing = httpRequest(url, { method: "POST", headers });
    outgoing.on("error", () => {});
    send(outgoing);
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    const body = await text(answer);
    outgoing.destroy();
    return body;
  };

  test.each(["application/proto", "application/json"])("over HTTP/1.1, %s", async (type) => {
    await start({ messageTimeoutMs: 100 });
    const body = await post(type, "Echo", (outgoing) => {
      const timer = setInterval(() => outgoing.write(" "), 10);
      outgoing.on("close", () => clearInterval(timer));
      outgoing.on("response", () => clearInterval(timer));
    });
    expect(JSON.parse(body)).toMatchObject({ code: "deadline_exceeded" });
    expect(codes).toEqual(["deadline_exceeded"]);
  });

  test("in a stream over HTTP/1.1", async () => {
    await start({ messageTimeoutMs: 100 });
    const body = await post("application/connect+proto", "Upload", (outgoing) =>
      outgoing.write(Buffer.from([0, 0, 0, 0, 3, 10, 1, 0x61])),
    );
    expect(body).toContain("deadline_exceeded");
  });

  test.each(["Echo", "Upload"])("over gRPC, %s", async (method) => {
    await start({ messageTimeoutMs: 100 });
    const socket = await connectRaw(server.port);
    socket.resume();
    socket.write(frame(frames.headers, endHeaders, 1, headerBlock(grpcCall(method))));
    socket.write(frame(frames.data, 0, 1, Buffer.from([0, 0])));
    await expect.poll(() => codes).toEqual(["deadline_exceeded"]);
    socket.destroy();
  });
});

test.each(ways.filter(({ isFullDuplex }) => isFullDuplex))(
  "a two-way stream may be silent for longer: $name",
  async (way) => {
    await start({ messageTimeoutMs: 100 }, way);
    const transport = way.open(server.url, "alice");
    const texts = async function* () {
      yield { text: "a" };
      await delay(400);
      yield { text: "b" };
    };
    const seen: string[] = [];
    for await (const answer of createClient(TestService, transport).converse(texts())) seen.push(answer.text);
    expect(seen).toEqual(["a", "b"]);
    await transport.close?.();
  },
);

/** Checks again and again until something has happened. */
const checkUntil = (check: () => void, hasHappened: () => boolean): Promise<unknown> =>
  eventually(() => {
    if (hasHappened()) return true;
    check();
    return false;
  }, "the server has noticed");

/** The bytes that a connection has received so far. */
const receivedBy = (socket: Socket): (() => Buffer) => {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks);
};

describe("a caller who takes nothing of its answer is given up", () => {
  const download = "Download";
  // The member size_bytes with 2^40.
  const request = Buffer.from([0, 0, 0, 0, 7, 8, 128, 128, 128, 128, 128, 32]);

  test("over HTTP/1.1", async () => {
    await start({ stallTimeoutMs: 200 });
    const socket = connect(server.port, "127.0.0.1");
    socket.pause();
    const lines = [
      `POST /quartet.test.v1.TestService/${download} HTTP/1.1`,
      "host: test",
      "content-type: application/connect+proto",
      "authorization: Bearer alice",
      `content-length: ${request.length}`,
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    socket.write(request);
    await expect.poll(() => codes, { timeout: 10_000 }).toEqual(["canceled"]);
    socket.destroy();
  });

  test("over HTTP/2 by its window, and its connection goes on", async () => {
    const check = await startWithChecks();
    const socket = await connectRaw(server.port, setting(4, 0));
    const received = receivedBy(socket);
    socket.on("data", (chunk: Buffer) => {
      const at = chunk.indexOf(frame(frames.ping, 0, 0, Buffer.alloc(8)).subarray(0, 9));
      if (at >= 0) socket.write(frame(frames.ping, ack, 0, chunk.subarray(at + 9, at + 17)));
    });
    socket.write(frame(frames.headers, endHeaders, 1, headerBlock(grpcCall(download))));
    socket.write(frame(frames.data, endStream, 1, request));
    await checkUntil(check, () => codes.length > 0);
    expect(codes).toEqual(["canceled"]);
    const reset = frame(frames.reset, 0, 1, Buffer.from([0, 0, 0, 8]));
    await expect.poll(() => received().includes(reset)).toBe(true);
    socket.write(frame(frames.headers, endHeaders | endStream, 3, headerBlock(grpcCall("Wait"))));
    const answered = frame(frames.headers, endHeaders | endStream, 3).subarray(3);
    await expect.poll(() => received().includes(answered)).toBe(true);
    socket.destroy();
  });

  test("over HTTP/2 by not reading its connection", async () => {
    const check = await startWithChecks();
    const socket = await connectRaw(server.port, setting(4, 0x7fffffff));
    socket.pause();
    socket.write(frame(frames.window, 0, 0, Buffer.from([0x70, 0, 0, 0])));
    socket.write(frame(frames.headers, endHeaders, 1, headerBlock(grpcCall(download))));
    socket.write(frame(frames.data, endStream, 1, request));
    await checkUntil(check, () => codes.length > 0);
    expect(codes).toEqual(["canceled"]);
    await checkUntil(check, () => {
      socket.write(frame(frames.ping, 0, 0, Buffer.alloc(8)));
      return socket.destroyed;
    });
  });

  test("over HTTP/2 only when it takes nothing at all between the checks", async () => {
    const check = await startWithChecks();
    const socket = await connectRaw(server.port, setting(4, 0));
    const received = receivedBy(socket);
    // The members size_bytes with 2^40 and chunk_bytes with 100,000: each message of the answer waits for the window.
    const large = Buffer.from([0, 0, 0, 0, 11, 8, 128, 128, 128, 128, 128, 32, 16, 160, 141, 6]);
    socket.write(frame(frames.headers, endHeaders, 1, headerBlock(grpcCall(download))));
    socket.write(frame(frames.data, endStream, 1, large));
    const messageBytes = 100_009;
    const window = Buffer.alloc(4);
    window.writeUInt32BE(messageBytes);
    for (let taken = 1; taken <= 20; taken += 1) {
      for (const stream of [0, 1]) socket.write(frame(frames.window, 0, stream, window));
      await expect.poll(() => received().length).toBeGreaterThan(taken * messageBytes);
      check();
    }
    expect(codes).toEqual([]);
    for (let checks = 0; checks < 5; checks += 1) check();
    await expect.poll(() => codes).toEqual(["canceled"]);
    socket.destroy();
  });
});

describe.each(["connect", "grpc"] as const)("a caller of the %s engine who reads slowly", (engine) => {
  test("is served for as long as it goes on", async () => {
    await start({ stallTimeoutMs });
    const transport = createTransport({ address: server.url, engine, token: async () => "alice" });
    const client = createClient(TestService, transport);
    const leaving = new AbortController();
    const messages = client.download({ sizeBytes: 2n ** 40n, chunkBytes: 1_000_000 }, { signal: leaving.signal });
    const endMs = performance.now() + 2 * stallTimeoutMs;
    for await (const _message of messages) {
      if (performance.now() > endMs) break;
      await delay(5);
    }
    leaving.abort();
    await expect(client.wait({}, { timeoutMs: 1.5 * stallTimeoutMs })).rejects.toMatchObject({
      code: Code.DeadlineExceeded,
    });
    await transport.close();
  });
});
