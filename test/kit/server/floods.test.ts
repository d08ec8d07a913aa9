import { once } from "node:events";

import { createClient } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import type { ClosableTransport } from "../../../services/kit/client/transport.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { ForgedTokenError } from "../../../services/kit/identity/unauthenticated-error.ts";
import type { RunningServer } from "../../../services/kit/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import {
  ack,
  closing,
  connectRaw,
  endHeaders,
  endStream,
  flood,
  frame,
  frames,
  grpcCall,
  headerBlock,
  setting,
} from "./raw-http2.ts";
import { authenticateAlice, startTestServer } from "./test-service.ts";

let server: RunningServer;
let transport: ClosableTransport;

beforeEach(async () => {
  ({ server } = await startTestServer({ limits: { pingsMax: 1_980 } }));
  transport = createTransport({ address: server.url, engine: "grpc", token: async () => "alice" });
});
afterEach(async () => {
  await transport.close();
  await server.stop(0);
});

/** Calls on a connection of its own while the work runs; returns how many calls were answered. */
const answeredDuring = async (work: Promise<unknown>): Promise<number> => {
  const client = createClient(TestService, transport);
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  let answered = 0;
  do {
    await client.echo({ text: "still here" });
    answered += 1;
  } while (!isOver);
  await work;
  return answered;
};

const repeated = (count: number, bytes: Buffer): Buffer => Buffer.concat(Array.from({ length: count }, () => bytes));
const openCall = frame(frames.headers, endHeaders, 1, headerBlock(grpcCall("Upload")));
const pageHeaders = { ":method": "GET", ":scheme": "http", ":authority": "test" };
const dozens = Object.fromEntries(Array.from({ length: 40 }, (_, line) => [`x-line-${line}`, "x".repeat(100)]));

describe("a connection is dropped, while calls on another one are answered, that floods with", () => {
  test.each([
    ["pings", Buffer.alloc(0), repeated(100, frame(frames.ping, 0, 0, Buffer.alloc(8)))],
    ["settings", Buffer.alloc(0), repeated(10, frame(frames.settings, 0, 0, setting(3, 100)))],
    [
      "headers that do not end",
      frame(frames.headers, 0, 1, headerBlock(grpcCall("Echo"))),
      repeated(10, frame(frames.more, 0, 1, headerBlock(dozens))),
    ],
    ["data frames without data", openCall, repeated(100, frame(frames.data, 0, 1))],
    [
      "frames of streams that were never opened",
      Buffer.alloc(0),
      repeated(10, frame(frames.data, 0, 99, Buffer.alloc(8))),
    ],
    [
      "windows beyond their limit",
      openCall,
      repeated(10, frame(frames.window, 0, 0, Buffer.from([0x7f, 255, 255, 255]))),
    ],
  ])("%s", async (_what, opening, bytes) => {
    const first = await connectRaw(server.port);
    first.write(opening);
    expect(await answeredDuring(flood(first, bytes))).toBeGreaterThan(0);
    // In one packet with the preface, so that streams are gone before the server is told of them.
    const socket = await connectRaw(server.port, Buffer.alloc(0), Buffer.concat([opening, repeated(30, bytes)]));
    expect(await answeredDuring(flood(socket, bytes))).toBeGreaterThan(0);
  });

  // what, headers, flags: the first resets are in one packet with the preface, so the server learns of streams too late
  test.each([
    ["a method", grpcCall("Upload"), endHeaders],
    ["no method", { ...grpcCall("Upload"), ":path": "/nobody.Knows/This" }, endHeaders],
    ["health", { ...grpcCall("Upload"), ":path": "/grpc.health.v1.Health/Check" }, endHeaders],
    ["a page", { ...pageHeaders, ":path": "/metrics" }, endHeaders | endStream],
    ["no page", { ...pageHeaders, ":path": "/nobody" }, endHeaders | endStream],
  ])("streams for %s that it resets at once", async (_what, headers, flags) => {
    let stream = -1;
    const some = (): Buffer =>
      Buffer.concat(
        Array.from({ length: 100 }, () => {
          stream += 2;
          const opened = frame(frames.headers, flags, stream, headerBlock(headers));
          return Buffer.concat([opened, frame(frames.reset, 0, stream, Buffer.from([0, 0, 0, 8]))]);
        }),
      );
    const socket = await connectRaw(server.port, Buffer.alloc(0), some());
    const flooding = (async () => {
      socket.resume();
      while (!socket.destroyed) await new Promise<void>((resolve) => socket.write(some(), () => setImmediate(resolve)));
    })();
    expect(await answeredDuring(flooding)).toBeGreaterThan(0);
  });
});

describe("a peer that reads every answer, so that none waits, and sends its frames in small groups", () => {
  test.each([
    // what, frame, how each one is answered, how many are allowed; the settings that open the connection count as well
    ["pings", frame(frames.ping, 0, 0, Buffer.alloc(8)), frame(frames.ping, ack, 0, Buffer.alloc(8)), 1_980],
    ["settings", frame(frames.settings, 0, 0, setting(3, 100)), frame(frames.settings, ack, 0), 99],
  ])("is dropped after as many %s as are allowed", async (_what, sent, answer, allowed) => {
    const socket = await connectRaw(server.port);
    let received = Buffer.alloc(0);
    let answered = 0;
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      for (let at = received.indexOf(answer); at >= 0; at = received.indexOf(answer)) {
        answered += 1;
        received = received.subarray(at + answer.length);
      }
    });
    for (let count = 33; count <= allowed; count += 33) {
      socket.write(repeated(33, sent));
      await eventually(() => answered >= count, "the frames are answered");
    }
    expect(socket.closed).toBe(false);
    socket.write(sent);
    await expect.poll(() => socket.closed).toBe(true);
  });
});

describe("an address whose connections flood again and again", () => {
  const { authorization: _token, ...stranger } = grpcCall("Upload");
  const resets = (count: number): Buffer =>
    Buffer.concat(
      Array.from({ length: count }, (_, at) => {
        const stream = 2 * at + 1;
        const opened = frame(frames.headers, endHeaders, stream, headerBlock(stranger));
        return Buffer.concat([opened, frame(frames.reset, 0, stream, Buffer.from([0, 0, 0, 8]))]);
      }),
    );
  const settings = repeated(200, frame(frames.settings, 0, 0, setting(3, 100)));
  const floodFrom = async (address: string, bytes = settings): Promise<void> => {
    const socket = (await connectRaw(server.port, Buffer.alloc(0), Buffer.alloc(0), address)).resume();
    const closed = closing(socket);
    socket.write(bytes);
    await closed;
  };
  /** Makes calls with tokens that are forged, on one connection, until it is closed. */
  const forgeFrom = async (port: number, address: string): Promise<number> => {
    const socket = (await connectRaw(port, Buffer.alloc(0), Buffer.alloc(0), address)).resume();
    let calls = 0;
    while (!socket.closed && calls < 100) {
      const headers = headerBlock({ ...grpcCall("Echo"), authorization: "Bearer forged" });
      const before = socket.bytesRead;
      socket.write(frame(frames.headers, endHeaders, 2 * calls + 1, headers));
      calls += 1;
      await eventually(() => socket.closed || socket.bytesRead > before, "the call is refused");
    }
    return calls;
  };
  const isServed = async (address: string): Promise<boolean> => {
    const socket = await connectRaw(server.port, Buffer.alloc(0), Buffer.alloc(0), address);
    const isOpen = socket.bytesRead > 0;
    socket.destroy();
    return isOpen;
  };

  test("is shut out, its other connections too, while others are served", async () => {
    const waiting = await connectRaw(server.port, Buffer.alloc(0), Buffer.alloc(0), "127.0.0.2");
    for (let count = 0; count < 5; count += 1) await floodFrom("127.0.0.2");
    expect([await isServed("127.0.0.2"), waiting.closed]).toEqual([true, false]);
    await floodFrom("127.0.0.2");
    expect([await isServed("127.0.0.2"), await isServed("127.0.0.1")]).toEqual([false, true]);
    waiting.resume();
    await expect.poll(() => waiting.closed).toBe(true);
  });

  test("is shut out by what its connections have reset together, before most of them are dropped", async () => {
    const connections = await Promise.all(
      Array.from({ length: 20 }, () => connectRaw(server.port, Buffer.alloc(0), Buffer.alloc(0), "127.0.0.2")),
    );
    // Fewer than any one of them is dropped for.
    for (const socket of connections) socket.resume().write(resets(900));
    await Promise.all(connections.map((socket) => closing(socket)));
    expect([await isServed("127.0.0.2"), await isServed("127.0.0.1")]).toEqual([false, true]);
  });

  test("is shut out by forged tokens too, while valid ones of others are taken", async () => {
    const { server: forgeable } = await startTestServer({
      authenticate: async (authorization) => {
        if (authorization === "Bearer forged") throw new ForgedTokenError();
        return authenticateAlice(authorization);
      },
    });
    onTestFinished(() => forgeable.stop(0));
    for (let count = 0; count < 6; count += 1) expect(await forgeFrom(forgeable.port, "127.0.0.2")).toBeLessThan(100);
    const shut = await connectRaw(forgeable.port, Buffer.alloc(0), Buffer.alloc(0), "127.0.0.2");
    expect(shut.bytesRead).toBe(0);
    const other = createTransport({ address: forgeable.url, engine: "grpc", token: async () => "alice" });
    expect((await createClient(TestService, other).echo({ text: "valid" })).text).toBe("valid");
    await other.close();
  });

  test("is served on while a caller from there has a valid token", async () => {
    const call = { ...grpcCall("Echo"), "x-name": "valid" };
    const caller = await connectRaw(server.port, Buffer.alloc(0), Buffer.alloc(0), "127.0.0.2");
    const answered = once(caller, "data");
    caller.write(frame(frames.headers, endHeaders, 1, headerBlock(call)));
    caller.write(frame(frames.data, endStream, 1, Buffer.alloc(5)));
    await answered;
    await eventually(() => caller.bytesRead > 60, "the call is answered");
    for (let count = 0; count < 6; count += 1) await floodFrom("127.0.0.2", resets(1_500));
    expect([await isServed("127.0.0.2"), caller.closed]).toEqual([true, false]);
    caller.destroy();
  });
});

test("a peer that resets streams in a flood has the first of them begun, and no more that it has reset already", async () => {
  let begun = 0;
  const { server: watched } = await startTestServer({
    authenticate: (authorization) => {
      begun += 1;
      return authenticateAlice(authorization);
    },
  });
  onTestFinished(() => watched.stop(0));
  const socket = (await connectRaw(watched.port)).resume();
  for (let round = 0; round < 9; round += 1) {
    const streams = Array.from({ length: 100 }, (_, at) => 200 * round + 2 * at + 1);
    const opened = (stream: number): Buffer =>
      frame(frames.headers, endHeaders, stream, headerBlock(grpcCall("Upload")));
    const given = streams.map((stream) => [opened(stream), frame(frames.reset, 0, stream, Buffer.from([0, 0, 0, 8]))]);
    socket.write(Buffer.concat(given.flat()));
  }
  let received = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
  const last = 1_801;
  socket.write(frame(frames.headers, endHeaders, last, headerBlock({ ...grpcCall("Echo"), authorization: "" })));
  await eventually(() => received.includes(Buffer.from([0, 0, last >> 8, last & 255])), "the last one is answered");
  expect(begun).toBeLessThan(200);
  socket.destroy();
});

test("windows that grow by one byte and priorities keep no other connection waiting", async () => {
  const socket = await connectRaw(server.port);
  socket.write(openCall);
  const window = frame(frames.window, 0, 0, Buffer.from([0, 0, 0, 1]));
  const priority = frame(frames.priority, 0, 1, Buffer.from([0, 0, 0, 0, 1]));
  const flooding = flood(socket, repeated(500, Buffer.concat([window, priority])));
  const client = createClient(TestService, transport);
  for (let call = 0; call < 50; call += 1) expect((await client.echo({ text: "x" })).text).toBe("x");
  socket.destroy();
  await flooding;
});

test("a request whose headers are over the limit is refused, and other calls of its connection are answered", async () => {
  const socket = await connectRaw(server.port);
  const large = Object.fromEntries(Array.from({ length: 320 }, (_, line) => [`x-line-${line}`, "x".repeat(120)]));
  const block = headerBlock({ ...grpcCall("Echo"), ...large });
  const pieces = Array.from({ length: 4 }, (_, piece) => block.subarray(piece * 16_000, (piece + 1) * 16_000));
  const cut = pieces.filter((piece) => piece.length > 0);
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk));
  cut.forEach((piece, index) => {
    const flags = index === cut.length - 1 ? endHeaders : 0;
    socket.write(frame(index === 0 ? frames.headers : frames.more, flags, 1, piece));
  });
  const refusal = frame(frames.reset, 0, 1, Buffer.from([0, 0, 0, 11]));
  await expect.poll(() => Buffer.concat(received).includes(refusal)).toBe(true);
  expect(socket.destroyed).toBe(false);
  socket.destroy();
});
