/** What is particular to shared connections; what all lanes have in common is in `lanes.test.ts`. */
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { join } from "node:path";

import { create, toBinary } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";

import { ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import { EchoRequestSchema, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import type { ServerOptions } from "../../../services/kit/server/server.ts";
import { answerNameBytes, answerPreface } from "../../../services/kit/wire/answer-connection.ts";
import type { Frame } from "../../../services/kit/wire/frame-parser.ts";
import { FrameParser } from "../../../services/kit/wire/frame-parser.ts";
import type { SharedFrame } from "../../../services/kit/wire/shared-frames.ts";
import {
  decodeSharedFrame,
  encodeSharedFrame,
  frameKinds,
  sharedPreface,
} from "../../../services/kit/wire/shared-frames.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { createTestApp, startTestServer, testHandlers } from "./test-service.ts";
import { collect } from "./transports.ts";

const start = async (options: Partial<ServerOptions> = {}) => {
  const path = join(await temporaryDirectory(), "shared.sock");
  const { server, app } = await startTestServer({ listen: { path }, ...options });
  onTestFinished(() => server.stop(0));
  const transport = createTransport({
    address: `unix:${path}`,
    engine: "connect",
    token: async () => "alice",
    retry: { attemptsMax: 1 },
  });
  onTestFinished(() => transport.close());
  return { server, app, path, client: createClient(TestService, transport) };
};

/** A connection of its own, and the frames that arrive on it. */
const connected = async (path: string): Promise<{ socket: Socket; frames: SharedFrame[] }> => {
  const socket = connect({ path });
  onTestFinished(() => void socket.destroy());
  const frames: SharedFrame[] = [];
  const parser = new FrameParser(1_000_000);
  socket.on("data", (chunk: Buffer) => {
    const received: Frame[] = [];
    parser.push(chunk, received);
    frames.push(...received.map(decodeSharedFrame));
  });
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(sharedPreface);
  return { socket, frames };
};

const path = (method: string): string => `/quartet.test.v1.TestService/${method}`;
const authorized = ["authorization", "Bearer alice"];
const callFrame = (number: number, method: string, body: Uint8Array = Buffer.alloc(0)): Buffer =>
  encodeSharedFrame(frameKinds.call, number, path(method), authorized, [body]);

/** Asks for an answer on a connection of its own: its status, and all bytes after its head as they arrive. */
const asked = async (socketPath: string, name: string) => {
  const socket = connect({ path: socketPath });
  onTestFinished(() => void socket.destroy());
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk));
  await once(socket, "connect");
  socket.write(Buffer.concat([answerPreface, Buffer.from(name)]));
  await eventually(() => received.length > 0, "the server answers");
  const [head] = framesOf(Buffer.concat(received));
  const headBytes = 5 + head!.body.length;
  return {
    socket,
    status: decodeSharedFrame(head!).first,
    body: () => Buffer.concat(received).toString("hex", headBytes),
  };
};

/** The frames with which these bytes begin. */
const framesOf = (bytes: Buffer): Frame[] => {
  const frames: Frame[] = [];
  new FrameParser(10_000_000).push(bytes, frames);
  return frames;
};

/** The end of an answer without an error. */
const plainEnd = "02000000027b7d";

describe("calls on one connection", () => {
  test("run at the same time, and each gets its own answer", async () => {
    const { client, app } = await start();
    const stop = new AbortController();
    const waiting = client.wait({}, { signal: stop.signal });
    const echoed = Promise.all(Array.from({ length: 200 }, (_none, number) => client.echo({ text: `${number}` })));
    expect((await echoed).map(({ text }) => text)).toEqual(Array.from({ length: 200 }, (_none, number) => `${number}`));
    expect(app.aborted).toEqual([]);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ code: Code.Canceled });
    await eventually(() => app.aborted.includes("wait"), "the handler's signal is aborted");
  });

  test("are not uploads whose requests are not known before they begin", async () => {
    const { client, app } = await start();
    const requests = async function* () {
      yield { name: "milk" };
      await eventually(() => app.begun.includes("upload"), "the upload has begun");
      yield { body: Buffer.from("two litres") };
    };
    expect(await client.upload(requests())).toMatchObject({ name: "milk", sizeBytes: 10n });
  }, 10_000);

  test("are given up when the connection closes", async () => {
    const { app, path: socketPath } = await start();
    const { socket } = await connected(socketPath);
    socket.write(callFrame(1, "Wait"));
    await eventually(() => app.begun.includes("wait"), "the call runs");
    expect(app.aborted).toEqual([]);
    socket.destroy();
    await eventually(() => app.aborted.includes("wait"), "the handler's signal is aborted");
  });

  test("fail as unavailable when the server goes away", async () => {
    const socketPath = join(await temporaryDirectory(), "gone.sock");
    const leaving = createServer().listen(socketPath);
    await once(leaving, "listening");
    leaving.removeAllListeners("connection").on("connection", (socket: Socket) => socket.destroy());
    onTestFinished(() => void leaving.close());
    const transport = createTransport({ address: `unix:${socketPath}`, engine: "connect", retry: { attemptsMax: 1 } });
    onTestFinished(() => transport.close());
    const client = createClient(TestService, transport);
    await expect(client.echo({})).rejects.toMatchObject({ code: Code.Unavailable });
    await expect(collect(client.count({ last: 1 }))).rejects.toMatchObject({ code: Code.Unavailable });
  });

  test("end before the connection when the server stops", async () => {
    const { server, client, app } = await start();
    const stop = new AbortController();
    const waiting = client.wait({}, { signal: stop.signal }).catch(({ code }: { code: Code }) => code);
    await eventually(() => app.begun.includes("wait"), "the call runs");
    const stopped = server.stop(10_000);
    stop.abort();
    expect(await waiting).toBe(Code.Canceled);
    await stopped;
    await expect(client.echo({})).rejects.toMatchObject({ code: Code.Unavailable });
  });

  test("that run when the server leaves are answered", async () => {
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const echo = async ({ text }: { readonly text: string }) => {
      begun += 1;
      await gate.promise;
      return { text };
    };
    const handlers = { ...testHandlers, echo };
    const services = [{ service: TestService, handlers, errors: ErrorReasonSchema, app: createTestApp() }];
    const { server, client, path: socketPath } = await start({ services });
    const answered = client.echo({ text: "milk" });
    await eventually(() => begun === 1, "the call runs");
    const { socket, frames } = await connected(socketPath);
    await asked(socketPath, "a".repeat(answerNameBytes));
    const stopped = server.stop(60_000);
    await eventually(() => frames.some(({ kind }) => kind === frameKinds.leave), "the connections are told");
    socket.destroy();
    gate.resolve();
    expect((await answered).text).toBe("milk");
    await stopped;
  });

  test("of an unknown method are refused alone", async () => {
    const { path: socketPath } = await start();
    const { socket, frames } = await connected(socketPath);
    socket.write(Buffer.concat([callFrame(1, "Nothing"), callFrame(2, "Echo")]));
    await eventually(() => frames.length === 2, "both are answered");
    expect(frames.map(({ call, first, kind }) => [call, first, kind])).toEqual([
      [1, "501", frameKinds.answer],
      [2, "200", frameKinds.answer],
    ]);
  });
});

test.each([
  // what the frames of the request are, the frames, code and message of the refusal
  ["no message", "", "unimplemented", "The call has no request message."],
  [
    "a part of a message",
    "000000000408c0",
    "invalid_argument",
    "1 validation error detected: The stream ends within a message.",
  ],
  ["two messages", "00000000000000000000", "unimplemented", "The call has more than one request message."],
  [
    "a message with unknown flags",
    "0800000000",
    "invalid_argument",
    "1 validation error detected: A frame of the request has unknown flags 8.",
  ],
])("a streamed call with %s is refused", async (_what, body, code, message) => {
  const { path: socketPath } = await start();
  const { socket, frames } = await connected(socketPath);
  socket.write(callFrame(1, "Count", Buffer.from(body, "hex")));
  await eventually(() => frames.length === 1, "the server answers");
  expect(frames[0]!.body.toString("latin1")).toContain(`{"error":{"code":"${code}","message":"${message}"`);
});

test("a request of the largest size is answered, and one byte more refused", async () => {
  const { path: socketPath } = await start({ limits: { unaryMessageBytesMax: 8, streamMessageBytesMax: 8 } });
  const { socket, frames } = await connected(socketPath);
  const echo = (text: string): Buffer => Buffer.from(toBinary(EchoRequestSchema, create(EchoRequestSchema, { text })));
  socket.write(Buffer.concat([callFrame(1, "Echo", echo("123456")), callFrame(2, "Echo", echo("1234567"))]));
  await eventually(() => frames.length === 2, "both are answered");
  expect(new Map(frames.map(({ call, first }) => [call, first]))).toEqual(
    new Map([
      [1, "200"],
      [2, "429"],
    ]),
  );
});

describe("a call that is answered after its deadline", () => {
  /** Handlers that answer when their calls were given up, with so many bytes. */
  const lateHandlers = (sizeBytes: number, over: string[]) => {
    type Context = { readonly signal: AbortSignal };
    const late = async (signal: AbortSignal): Promise<void> => {
      if (!signal.aborted) await once(signal, "abort");
    };
    return {
      ...testHandlers,
      echo: async ({ text }: { readonly text: string }, { signal }: Context) => {
        if (text === "late") await late(signal).finally(() => over.push("echo"));
        return { text: "a".repeat(sizeBytes) };
      },
      count: async function* (_request: unknown, { signal }: Context) {
        await late(signal).finally(() => over.push("count"));
        yield { number: 1 };
      },
      upload: async (_requests: unknown, { signal }: Context) => {
        await late(signal).finally(() => over.push("upload"));
        return { name: "a".repeat(sizeBytes) };
      },
    };
  };

  // Small answers are sent on the connection, and large ones elsewhere.
  test.each([10, 200_000])("is refused once, whatever its handler does then with %i bytes", async (sizeBytes) => {
    const over: string[] = [];
    const handlers = lateHandlers(sizeBytes, over);
    const services = [{ service: TestService, handlers, errors: ErrorReasonSchema, app: createTestApp() }];
    const { path: socketPath } = await start({ services });
    const { socket, frames } = await connected(socketPath);
    const lines = [...authorized, "connect-timeout-ms", "50"];
    const late = toBinary(EchoRequestSchema, create(EchoRequestSchema, { text: "late" }));
    socket.write(encodeSharedFrame(frameKinds.call, 1, path("Echo"), lines, [late]));
    socket.write(encodeSharedFrame(frameKinds.call, 2, path("Count"), lines, [Buffer.alloc(5)]));
    socket.write(encodeSharedFrame(frameKinds.call, 3, path("Upload"), lines, [Buffer.alloc(5)]));
    await eventually(() => over.length === 3, "the handlers end");
    socket.write(callFrame(4, "Echo"));
    await eventually(() => frames.some(({ call }) => call === 4), "the next call is answered");
    expect(frames.map(({ call }) => call).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
  });
});

describe("a connection is closed", () => {
  test.each([
    // what it sends
    ["another preface", Buffer.from("SHARED/2\n")],
    ["a frame over the limit", Buffer.concat([sharedPreface, Buffer.from("0100100000", "hex")])],
    ["a frame without a head", Buffer.concat([sharedPreface, Buffer.from("010000000100", "hex")])],
    ["a frame of servers", Buffer.concat([sharedPreface, encodeSharedFrame(frameKinds.answer, 1, "200", [], [])])],
    ["a number twice", Buffer.concat([sharedPreface, callFrame(1, "Wait"), callFrame(1, "Wait")])],
  ])("that sends %s", async (_what, bytes) => {
    const { path: socketPath } = await start();
    const socket = connect({ path: socketPath });
    socket.on("error", () => {});
    socket.write(bytes);
    socket.resume();
    await once(socket, "close");
    expect(socket.destroyed).toBe(true);
  });

  test("over TCP, where no connection is shared", async () => {
    const { server } = await startTestServer();
    onTestFinished(() => server.stop(0));
    const socket = connect({ host: "127.0.0.1", port: server.port });
    onTestFinished(() => void socket.destroy());
    socket.write(sharedPreface);
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString("latin1", 0, 12)).toBe("HTTP/1.1 400");
  });
});

describe("a large answer", () => {
  /** Two frames of messages: `sizeBytes` is 1,000,000. */
  const download = Buffer.from("000000000408c0843d", "hex");

  test("is sent once, to a connection that names it", async () => {
    const { path: socketPath } = await start();
    const { socket, frames } = await connected(socketPath);
    socket.write(callFrame(1, "Download", download));
    await eventually(() => frames.length === 1, "the server answers");
    const { kind, first } = frames[0]!;
    expect([kind, first]).toEqual([frameKinds.elsewhere, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    const { status, body } = await asked(socketPath, first);
    await eventually(() => body().endsWith(plainEnd), "the answer ends");
    expect([status, body().length > 2_000_000]).toEqual(["200", true]);
    expect((await asked(socketPath, first)).status).toBe("404");
  });

  test("is followed by the next one on the same connection", async () => {
    const { path: socketPath } = await start();
    const { socket, frames } = await connected(socketPath);
    socket.write(callFrame(1, "Download", download));
    socket.write(callFrame(2, "Download", download));
    await eventually(() => frames.length === 2, "the server answers");
    const { socket: connection, body } = await asked(socketPath, frames[0]!.first);
    await eventually(() => body().endsWith(plainEnd), "the answer ends");
    const { length } = body();
    connection.write(frames[1]!.first);
    await eventually(() => body().length > 2 * length && body().endsWith(plainEnd), "so does the next one");
    expect(connection.destroyed).toBe(false);
  });

  test("of an upload is sent to such a connection as well", async () => {
    const upload = async () => ({ name: "a".repeat(200_000) });
    const handlers = { ...testHandlers, upload };
    const services = [{ service: TestService, handlers, errors: ErrorReasonSchema, app: createTestApp() }];
    const { path: socketPath } = await start({ services });
    const { socket, frames } = await connected(socketPath);
    socket.write(callFrame(1, "Upload", Buffer.alloc(5)));
    await eventually(() => frames.length === 1, "the server answers");
    const { kind, first } = frames[0]!;
    expect(kind).toBe(frameKinds.elsewhere);
    const { status, body } = await asked(socketPath, first);
    await eventually(() => body().endsWith(plainEnd), "the answer ends");
    // A frame of 200,004 bytes with the name, and the end of the stream.
    expect([status, body().slice(0, 20), body().length]).toEqual(["200", "0000030d440ac09a0c61", 400_032]);
  });

  test("whose call was given up is a refusal for who asks for it then", async () => {
    const clock = new FakeClock();
    const { path: socketPath } = await start({ clock });
    const { socket, frames } = await connected(socketPath);
    const lines = [...authorized, "connect-timeout-ms", "5000"];
    socket.write(encodeSharedFrame(frameKinds.call, 1, path("Download"), lines, [download]));
    await eventually(() => frames.length === 1, "the server answers");
    clock.advance(6_000);
    const { status, body } = await asked(socketPath, frames[0]!.first);
    expect(status).toBe("200");
    expect(Buffer.from(body(), "hex").toString()).toContain('{"error":{"code":"deadline_exceeded"');
  });

  test("that nobody asks for is given up, and its call has ended", async () => {
    const clock = new FakeClock();
    const { log, lines } = capturingLogger("info");
    const { path: socketPath, app } = await start({ clock, log });
    const { socket, frames } = await connected(socketPath);
    socket.write(callFrame(1, "Download", download));
    await eventually(() => frames.length === 1, "the server answers");
    expect(app.made).toBe(1);
    clock.advance(10_000);
    expect((await asked(socketPath, frames[0]!.first)).status).toBe("404");
    expect(lines.filter(({ msg }) => msg === "call").map(({ code }) => code)).toEqual(["canceled"]);
  });

  test("is given up when its connection closes", async () => {
    const { log, lines } = capturingLogger("info");
    const { path: socketPath, app } = await start({ log });
    const { socket, frames } = await connected(socketPath);
    socket.write(callFrame(1, "Download", Buffer.from("00000000050880c2d72f", "hex")));
    await eventually(() => frames.length === 1, "the server answers");
    const { socket: connection } = await asked(socketPath, frames[0]!.first);
    connection.destroy();
    await eventually(() => lines.some(({ msg, code }) => msg === "call" && code === "canceled"), "its call has ended");
    // Of 1,526 messages.
    expect(app.made).toBeLessThan(1_000);
  });

  test.each([
    // what a connection for answers sends
    ["another preface", "ANSWER/2\n"],
    ["more than a name", `ANSWER/1\n${"a".repeat(100)}`],
  ])("is not sent to who sends %s", async (_what, text) => {
    const { path: socketPath } = await start();
    const socket = connect({ path: socketPath });
    socket.on("error", () => {});
    socket.write(text);
    socket.resume();
    await once(socket, "close");
    expect(socket.destroyed).toBe(true);
  });
});
