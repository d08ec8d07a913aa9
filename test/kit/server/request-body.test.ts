import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { gzipSync } from "node:zlib";

import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";

import { EchoRequestSchema } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import type { Call } from "../../../services/kit/server/call.ts";
import { bodyFrames, decodeFrame, readOnlyFrame, readWholeBody } from "../../../services/kit/server/request-body.ts";
import { messageCodec } from "../../../services/kit/wire/message-codec.ts";
import { ProtocolError } from "../../../services/kit/wire/protocol-error.ts";

/** A body that arrives in pieces and then ends. */
const bodyOf = (...pieces: readonly Uint8Array[]): PassThrough => {
  const source = new PassThrough();
  for (const piece of pieces) source.write(piece);
  source.end();
  return source;
};

/** A call that is given up by its function `giveUp`. */
const openCall = () => {
  let giveUp: (reason: ProtocolError) => void = () => {};
  const whenAborted = (listener: (reason: ProtocolError) => void): void => {
    giveUp = listener;
  };
  return { call: { whenAborted } as Call, giveUp: (reason: ProtocolError) => giveUp(reason) };
};

const bytes = (count: number): Buffer => Buffer.alloc(count, "a");
const frame = (body: Uint8Array, flags = 0): Buffer => {
  const head = Buffer.from([flags, 0, 0, 0, 0]);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
};
const tooLarge = { code: Code.ResourceExhausted, metadata: { limit_bytes: "10" } };

describe("a whole body with a limit of 10 bytes", () => {
  test.each([
    // the declared length, the pieces, the length
    [10, [bytes(10)], 10],
    [undefined, [bytes(4), bytes(6)], 10],
    [undefined, [], 0],
    [0, [], 0],
  ])("of the declared length %s is read from %j", async (declared, pieces, length) => {
    expect(await readWholeBody(bodyOf(...pieces), declared, 10, openCall().call)).toHaveLength(length);
  });

  test.each([
    [undefined, [bytes(11)]],
    [undefined, [bytes(10), bytes(1)]],
    [undefined, [bytes(11), bytes(1_000)]],
  ])("of the declared length %s is refused from %j", async (declared, pieces) => {
    await expect(readWholeBody(bodyOf(...pieces), declared, 10, openCall().call)).rejects.toMatchObject(tooLarge);
  });

  test("of a declared length over it is refused before anything arrives", async () => {
    const source = new PassThrough();
    await expect(readWholeBody(source, 11, 10, openCall().call)).rejects.toMatchObject(tooLarge);
    expect(source.listenerCount("data")).toBe(0);
  });
});

describe("a body of one frame with a limit of 10 bytes", () => {
  test.each([
    ["a frame of 10 bytes", [frame(bytes(10))], 10],
    [
      "a frame in pieces",
      [frame(bytes(3)).subarray(0, 2), frame(bytes(3)).subarray(2, 6), frame(bytes(3)).subarray(6)],
      3,
    ],
    ["an empty frame", [frame(bytes(0))], 0],
  ])("is %s", async (_what, pieces, length) => {
    expect((await readOnlyFrame(bodyOf(...pieces), 10, openCall().call)).body).toHaveLength(length);
  });

  test.each([
    ["a frame of 11 bytes, of which none has arrived", [frame(bytes(11)).subarray(0, 5)], Code.ResourceExhausted],
    ["two frames", [frame(bytes(1)), frame(bytes(1))], Code.Unimplemented],
    ["two frames in one piece", [Buffer.concat([frame(bytes(1)), frame(bytes(1))])], Code.Unimplemented],
    ["nothing", [], Code.Unimplemented],
    ["a frame without its end", [frame(bytes(5)).subarray(0, 9)], Code.Unimplemented],
    ["a frame and the head of another", [frame(bytes(5)), frame(bytes(5)).subarray(0, 1)], Code.Unimplemented],
  ])("is not %s", async (_what, pieces, code) => {
    await expect(readOnlyFrame(bodyOf(...pieces), 10, openCall().call)).rejects.toMatchObject({ code });
  });
});

test.each([
  ["a whole body", (source: PassThrough, call: Call) => readWholeBody(source, undefined, 10, call)],
  ["a body of one frame", (source: PassThrough, call: Call) => readOnlyFrame(source, 10, call)],
])("%s is waited for until its call is given up", async (_what, read) => {
  const { call, giveUp } = openCall();
  const reading = read(new PassThrough(), call);
  const reason = new ProtocolError(Code.Canceled, "The caller went away.");
  giveUp(reason);
  await expect(reading).rejects.toBe(reason);
});

test("frames are not taken from their source before the first is asked for", async () => {
  const source = new PassThrough();
  const queue = bodyFrames(source, 10, { route: { input: {} }, whenAborted: () => {} } as unknown as Call);
  source.write(frame(bytes(3)));
  await setImmediate();
  expect(source.readableLength).toBe(8);
  expect((await queue.next())?.body).toHaveLength(3);
});

describe("a frame", () => {
  const codec = messageCodec(EchoRequestSchema);
  const message = toBinary(EchoRequestSchema, create(EchoRequestSchema, { text: "milk and honey" }));
  const decode = (flags: number, body: Uint8Array, isGzip: boolean, limitBytes = message.length) =>
    decodeFrame({ flags, body: Buffer.from(body) }, { codec, isGzip, limitBytes });

  test("is decoded, compressed or not, up to the limit of what it holds", async () => {
    expect(await decode(0, message, false)).toMatchObject({ text: "milk and honey" });
    expect(await decode(0, message, true)).toMatchObject({ text: "milk and honey" });
    expect(await decode(1, gzipSync(message), true)).toMatchObject({ text: "milk and honey" });
  });

  test.each([
    ["flags that are not known", 2, message, true, message.length, Code.InvalidArgument],
    ["two flags", 3, message, true, message.length, Code.InvalidArgument],
    ["compression that was not announced", 1, gzipSync(message), false, message.length, Code.Internal],
    ["compression that it does not have", 1, message, true, message.length, Code.InvalidArgument],
    ["one byte more than the limit", 1, gzipSync(message), true, message.length - 1, Code.ResourceExhausted],
    ["bytes that are not a message", 0, Buffer.from([0x0a, 0x50, 1]), false, 100, Code.InvalidArgument],
  ])("with %s is refused", async (_what, flags, body, isGzip, limitBytes, code) => {
    await expect(decode(flags, body, isGzip, limitBytes)).rejects.toMatchObject({ code });
  });
});
