/*
 * Goal: what a handler does after its call was given up does not reach the answer, also while that answer cannot be
 * sent. Method: over HTTP/1.1 the answer waits for that of an earlier request, over HTTP/2 for a window. After the
 * deadline the handler goes on, and then the answer is sent.
 */
import { once } from "node:events";
import { ServerResponse } from "node:http";
import type { ClientHttp2Stream } from "node:http2";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";

import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import { CountRequestSchema, EchoRequestSchema, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { createTestApp, startTestServer, testHandlers } from "./test-service.ts";

/** How a handler goes on once its call was given up. */
type GoOn = () => object;

const fail: GoOn = () => {
  throw new Error("late");
};

/** A server with handlers that wait until their call is given up. The clock is the test's. */
const startLate = async (goOn: GoOn) => {
  const clock = new FakeClock();
  const { log, lines } = capturingLogger("error");
  const state = { begun: 0, over: 0, closed: 0 };
  const held = Promise.withResolvers<object>();
  const late = async (signal: AbortSignal): Promise<object> => {
    state.begun += 1;
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    try {
      return goOn();
    } finally {
      state.over += 1;
    }
  };
  type Context = { readonly signal: AbortSignal; readonly responseHeader: Headers };
  const handlers = {
    ...testHandlers,
    echo: ({ text }: { readonly text: string }, { signal, responseHeader }: Context) => {
      if (text === "held") return held.promise;
      if (text !== "late") return Promise.resolve({ text });
      responseHeader.set("x-echoed", "late");
      return late(signal);
    },
    count: async function* (_request: unknown, { signal }: Context) {
      try {
        yield { number: 1 };
        let next = await late(signal);
        while ("number" in next) {
          yield next;
          next = goOn();
        }
      } finally {
        state.closed += 1;
      }
    },
  };
  const services = [{ service: TestService, handlers, errors: ErrorReasonSchema, app: createTestApp() }];
  const { server } = await startTestServer({ services, clock, log });
  onTestFinished(() => server.stop(0));
  return { server, clock, state, lines, release: () => held.resolve({ text: "held" }) };
};

const echoBytes = (text: string): Buffer =>
  Buffer.from(toBinary(EchoRequestSchema, create(EchoRequestSchema, { text })));
const countBytes = Buffer.from(toBinary(CountRequestSchema, create(CountRequestSchema, { last: 1 })));
const framed = (body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
};

describe("over HTTP/1.1, after a request that has no answer yet", () => {
  const request = (method: string, type: string, body: Buffer, timeoutMs: number): Buffer =>
    Buffer.concat([
      Buffer.from(
        `POST /quartet.test.v1.TestService/${method} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer alice\r\n` +
          `content-type: ${type}\r\nconnect-timeout-ms: ${timeoutMs}\r\ncontent-length: ${body.length}\r\n\r\n`,
      ),
      body,
    ]);
  const first = request("Echo", "application/proto", echoBytes("held"), 100_000);
  const last = request("Echo", "application/proto", echoBytes("last"), 100_000);

  test.each([
    // what, the call, how its handler goes on, its answer
    ["a call that answers", "Echo", () => ({ text: "too late" }), /HTTP\/1\.1 504 .*"deadline_exceeded"/s],
    ["a call that fails", "Echo", fail, /HTTP\/1\.1 504 .*"deadline_exceeded"/s],
    ["a stream that goes on without end", "Count", () => ({ number: 2 }), /HTTP\/1\.1 200 .*"deadline_exceeded"/s],
    ["a stream that ends", "Count", () => ({}), /HTTP\/1\.1 200 .*"deadline_exceeded"/s],
    ["a stream that fails", "Count", fail, /HTTP\/1\.1 200 .*"deadline_exceeded"/s],
  ] as const)("%s after its deadline is answered once", async (_what, method, goOn, expected) => {
    const { server, clock, state, lines, release } = await startLate(goOn);
    const isStream = method === "Count";
    const body = isStream ? framed(countBytes) : echoBytes("late");
    const call = request(method, isStream ? "application/connect+proto" : "application/proto", body, 1_000);
    const begin = vi.spyOn(ServerResponse.prototype, "writeHead");
    onTestFinished(() => begin.mockRestore());
    const socket = connect(server.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const received: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    socket.write(Buffer.concat([first, call]));
    await eventually(() => state.begun === 1, "the handler waits");
    clock.advance(1_001);
    await eventually(() => state.over === 1, "the handler has gone on");
    for (let turns = 0; turns < 5; turns += 1) await setImmediate();

    release();
    socket.write(last);
    const answers = (): string[] =>
      Buffer.concat(received)
        .toString("latin1")
        .split(/(?=HTTP\/1\.1 )/);
    await eventually(() => answers().length === 3 && answers()[2]!.includes("last"), "all is answered");
    expect(answers()[1]).toMatch(expected);
    expect(answers()[1]).not.toContain("too late");
    await eventually(() => state.closed === (isStream ? 1 : 0), "the handler of a stream is closed");
    // A second beginning would be refused by Node.js, which nobody sees.
    expect(begin).toHaveBeenCalledTimes(3);
    expect(lines).toEqual([]);
  });
});

describe("over HTTP/2, with a window that is closed", () => {
  /** A gRPC call of which the caller accepts no message yet. */
  const callClosed = (port: number, method: string, body: Buffer): ClientHttp2Stream => {
    const session = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
    onTestFinished(() => session.destroy());
    const stream = session.request({
      ":method": "POST",
      ":path": `/quartet.test.v1.TestService/${method}`,
      "content-type": "application/grpc+proto",
      te: "trailers",
      authorization: "Bearer alice",
      "grpc-timeout": "1S",
    });
    stream.end(framed(body));
    return stream;
  };

  /** How a call ends once its caller accepts messages. */
  const opened = async (stream: ClientHttp2Stream) => {
    const ended = { status: undefined as unknown, bytes: 0, error: undefined as unknown };
    const note = (headers: Record<string, unknown>): void => {
      ended.status ??= headers["grpc-status"];
    };
    stream.on("response", note);
    stream.on("trailers", note);
    stream.on("data", (chunk: Buffer) => (ended.bytes += chunk.length));
    stream.on("error", (error) => (ended.error = error));
    stream.session!.settings({ initialWindowSize: 65_535 });
    await once(stream, "close");
    return ended;
  };

  test.each([
    // what, the call, how its handler goes on, the bytes of its answer
    ["a call that answers", "Echo", () => ({ text: "too late" }), 0],
    ["a call that fails", "Echo", fail, 0],
    ["a stream that goes on without end", "Count", () => ({ number: 2 }), 7],
    ["a stream that ends", "Count", () => ({}), 7],
    ["a stream that fails", "Count", fail, 7],
  ] as const)("%s after its deadline ends with the deadline", async (_what, method, goOn, bytes) => {
    const { server, clock, state, lines } = await startLate(goOn);
    const end = vi.spyOn(Duplex.prototype, "end");
    onTestFinished(() => end.mockRestore());
    const isStream = method === "Count";
    const stream = callClosed(server.port, method, isStream ? countBytes : echoBytes("late"));
    await eventually(() => state.begun === 1, "the handler waits");
    clock.advance(1_001);
    await eventually(() => state.over === 1, "the handler has gone on");
    for (let turns = 0; turns < 5; turns += 1) await setImmediate();
    expect(await opened(stream)).toEqual({ status: "4", bytes, error: undefined });
    await eventually(() => state.closed === (isStream ? 1 : 0), "the handler of a stream is closed");
    // Bytes after the end would be refused by Node.js, which nobody sees.
    const written = end.mock.calls.flatMap(([chunk]) => (chunk instanceof Uint8Array ? [Buffer.from(chunk)] : []));
    expect(written.filter((chunk) => chunk.includes("too late"))).toEqual([]);
    expect(lines).toEqual([]);
  });
});
