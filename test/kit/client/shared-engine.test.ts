import type { Socket } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";

import { create, toBinary } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthCheckResponseSchema,
} from "../../../gen/grpc/health/v1/health_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { answerNameBytes, answerPreface } from "../../../services/kit/wire/answer-connection.ts";
import type { Frame } from "../../../services/kit/wire/frame-parser.ts";
import { FrameParser } from "../../../services/kit/wire/frame-parser.ts";
import {
  decodeSharedFrame,
  encodeSharedFrame,
  frameKinds,
  sharedPreface,
} from "../../../services/kit/wire/shared-frames.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

/** What a server does with a call on its shared connection, and with one that asks for a large answer. */
interface Behavior {
  readonly onCall: (socket: Socket, call: number) => void;
  readonly onAsk?: (socket: Socket) => void;
}

/** A server that reads calls as they are sent and answers whatever it likes. */
const startServer = async ({ onCall, onAsk }: Behavior) => {
  const path = join(await temporaryDirectory(), "rpc.sock");
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    const parser = new FrameParser(1024 * 1024);
    let begin = Buffer.alloc(0);
    let isShared = false;
    socket.on("data", (chunk) => {
      let bytes = chunk;
      if (!isShared) {
        begin = Buffer.concat([begin, chunk]);
        if (begin.length >= answerPreface.length + answerNameBytes && begin.indexOf(answerPreface) === 0) {
          onAsk?.(socket);
          return;
        }
        if (begin.indexOf(sharedPreface) !== 0) return;
        isShared = true;
        bytes = begin.subarray(sharedPreface.length);
      }
      const frames: Frame[] = [];
      parser.push(bytes, frames);
      for (const frame of frames) {
        const { kind, call } = decodeSharedFrame(frame);
        if (kind === frameKinds.call) onCall(socket, call);
      }
    });
  });
  server.listen(path);
  const transport = createTransport({ address: `unix:${path}`, engine: "connect", retry: { attemptsMax: 1 } });
  onTestFinished(async () => {
    await transport.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return createClient(Health, transport);
};

const message = toBinary(
  HealthCheckResponseSchema,
  create(HealthCheckResponseSchema, { status: ServingStatus.SERVING }),
);
const frame = (flags: number, body: Uint8Array): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
};
const end = frame(2, Buffer.from("{}"));
const name = "0".repeat(answerNameBytes);

/** Answers a call with one frame. */
const answering =
  (kind: number, first: string, body: Uint8Array): Behavior["onCall"] =>
  (socket, call) =>
    void socket.write(encodeSharedFrame(kind, call, first, ["content-type", "application/proto"], [body]));

describe("a call over a shared connection", () => {
  test("is answered", async () => {
    const client = await startServer({ onCall: answering(frameKinds.answer, "200", message) });
    expect((await client.check({})).status).toBe(ServingStatus.SERVING);
  });

  // what the server sends, kind, first text
  test.for([
    ["a frame of a call", frameKinds.call, "/a/b"],
    ["a frame of a kind that there is not", 77, "200"],
    ["a status that is none", frameKinds.answer, "abc"],
    ["a status of four digits", frameKinds.answer, "2000"],
    ["no status", frameKinds.answer, ""],
  ] as const)("fails at %s", async ([, kind, first]) => {
    const client = await startServer({ onCall: answering(kind, first, message) });
    await expect(client.check({})).rejects.toMatchObject({ code: Code.Internal });
  });

  const read = async (client: Awaited<ReturnType<typeof startServer>>): Promise<number> => {
    let count = 0;
    for await (const _answer of client.watch({})) count += 1;
    return count;
  };

  test("reads the messages of a whole stream", async () => {
    const body = Buffer.concat([frame(0, message), frame(0, message), end]);
    expect(await read(await startServer({ onCall: answering(frameKinds.answer, "200", body) }))).toBe(2);
  });

  // what the stream is, its frames
  test.for([
    ["goes on after its end with a message", [frame(0, message), end, frame(0, message)]],
    ["goes on after its end with another end", [frame(0, message), end, end]],
    ["has no end", [frame(0, message)]],
    ["has nothing", []],
  ] as const)("fails where a stream %s", async ([, frames]) => {
    const client = await startServer({ onCall: answering(frameKinds.answer, "200", Buffer.concat(frames)) });
    await expect(read(client)).rejects.toMatchObject({ code: Code.Internal });
  });
});

describe("a large answer, on a connection of its own,", () => {
  const elsewhere = answering(frameKinds.elsewhere, name, Buffer.alloc(0));
  const head = encodeSharedFrame(frameKinds.answer, 0, "200", [], []);

  const sending =
    (frames: readonly Buffer[]) =>
    (socket: Socket): void =>
      void socket.write(Buffer.concat([head, ...frames]));

  test("is received", async () => {
    const client = await startServer({ onCall: elsewhere, onAsk: sending([frame(0, message), end]) });
    expect((await client.check({})).status).toBe(ServingStatus.SERVING);
  });

  // what the answer has, its frames, the failure
  test.for([
    ["two messages", [frame(0, message), frame(0, message), end], "[internal] the call has more than one answer"],
    ["no message", [end], "[internal] the answer has no message"],
  ] as const)("fails with %s", async ([, frames, failure]) => {
    const client = await startServer({ onCall: elsewhere, onAsk: sending(frames) });
    await expect(client.check({})).rejects.toThrow(failure);
  });

  test("has what is left of the call's time", async () => {
    const timeoutMs = 3_600_000;
    const now = vi.spyOn(performance, "now");
    onTestFinished(() => now.mockRestore());
    const client = await startServer({
      onCall: (socket, call) => {
        const laterMs = performance.now() + timeoutMs;
        now.mockReturnValue(laterMs);
        elsewhere(socket, call);
      },
      onAsk: () => {},
    });
    await expect(client.check({}, { timeoutMs })).rejects.toMatchObject({ code: Code.DeadlineExceeded });
  });
});
