import { create, fromBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { EchoRequestSchema, UploadRequestSchema } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { messageCodec } from "../../../services/kit/wire/message-codec.ts";

describe("a message with a large bytes member", () => {
  const codec = messageCodec(UploadRequestSchema);
  const body = new Uint8Array(20_000).fill(3);

  test("is written as its other members, a tag and a length, and the bytes themselves", () => {
    const { parts, byteLength } = codec.encode({ name: "ship", body });
    expect([...(parts[0] as Uint8Array)]).toEqual([0x0a, 4, 0x73, 0x68, 0x69, 0x70, 0x12, 0xa0, 0x9c, 0x01]);
    expect(parts[1]).toBe(body);
    expect(byteLength).toBe(20_010);
  });

  test("is read back by any reader", () => {
    const { parts } = codec.encode({ name: "ship", body });
    const read = fromBinary(UploadRequestSchema, new Uint8Array(Buffer.concat(parts)));
    expect(read).toMatchObject({ name: "ship", body });
  });

  test("keeps its bytes after it was written", () => {
    const message = create(UploadRequestSchema, { name: "ship", body });
    codec.encode(message);
    expect(message.body).toBe(body);
  });

  test("is read as a view of what arrived", () => {
    const arrived = Buffer.concat(codec.encode({ name: "ship", body }).parts);
    const read = codec.decode(arrived);
    expect(read.body.buffer).toBe(arrived.buffer);
    expect(Buffer.isBuffer(read.body)).toBe(false);
  });
});

test("a message with a small bytes member is one buffer", () => {
  const { parts } = messageCodec(UploadRequestSchema).encode({ name: "ship", body: new Uint8Array([1]) });
  expect(parts.map((part) => [...part])).toEqual([[0x0a, 4, 0x73, 0x68, 0x69, 0x70, 0x12, 1, 1]]);
});

test("bytes from 4 KiB on stay beside their message", () => {
  const lengthsOf = (size: number) =>
    messageCodec(UploadRequestSchema)
      .encode({ name: "ship", body: new Uint8Array(size) })
      .parts.map(({ length }) => length);
  expect([lengthsOf(4_095), lengthsOf(4_096)]).toEqual([[4_104], [9, 4_096]]);
});

test("what is no such message is refused", () => {
  expect(() => messageCodec(EchoRequestSchema).decode(Buffer.from([0x0a, 0x50]))).toThrow(RangeError);
});
