import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "vitest";

import { EchoRequestSchema, UploadRequestSchema } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { encodeMessage } from "../../../services/kit/wire/encode-message.ts";

const upload = (name: string, size: number) =>
  create(UploadRequestSchema, { name, body: new Uint8Array(size).fill(7) });

describe("a message has the same bytes as those of the library", () => {
  test.each([
    // what, name, bytes of the body
    ["without members", "", 0],
    ["of a short text", "ship", 0],
    ["of a text that is no ASCII", "Schiff auf hoher See, 船, ⛵ ".repeat(40), 3],
    ["that is in the kept memory", "ship", 4_000],
    ["that is larger than the kept memory", "ship", 20_000],
    ["that is as large after a larger one", "ship", 20_000],
    ["that is too large to keep its memory", "ship", 300_000],
    ["of a text that grows the memory while it is written", "a".repeat(100_000), 0],
    ["that is small again", "ship", 1],
  ])("%s", (_what, name, size) => {
    const message = upload(name, size);
    expect(Buffer.compare(encodeMessage(UploadRequestSchema, message), toBinary(UploadRequestSchema, message))).toBe(0);
  });
});

test("its bytes stay as they are when the next messages are encoded", () => {
  const sizes = [10, 3_000, 5_000, 100_000];
  const encoded = sizes.map((size) => encodeMessage(UploadRequestSchema, upload("ship", size)));
  for (const size of [...sizes, 400_000]) encodeMessage(UploadRequestSchema, upload("b".repeat(size), size));
  const bodies = encoded.map((bytes, index) => bytes.subarray(-sizes[index]!));
  expect(bodies.map((bytes) => bytes.every((byte) => byte === 7))).toEqual([true, true, true, true]);
});

test("its bytes are no Buffer, so that a slice of them is a copy", () => {
  const bytes = encodeMessage(UploadRequestSchema, upload("ship", 10));
  const copy = bytes.slice();
  bytes.fill(0);
  expect([Buffer.isBuffer(bytes), copy[0]]).toEqual([false, 0x0a]);
});

test("a writer of somebody else keeps what it has written while a message is encoded", () => {
  const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).string("anchor");
  encodeMessage(UploadRequestSchema, upload("ship", 5_000));
  expect([...writer.bool(true).finish()]).toEqual([0x0a, 6, 0x61, 0x6e, 0x63, 0x68, 0x6f, 0x72, 1]);
});

test("a message is encoded after one that could not be", () => {
  const broken = create(EchoRequestSchema, { text: "ship", number: 2n ** 64n });
  expect(() => encodeMessage(EchoRequestSchema, broken)).toThrow("number");
  expect([...encodeMessage(EchoRequestSchema, create(EchoRequestSchema, { text: "a" }))]).toEqual([0x0a, 1, 0x61]);
});

test("a message that is encoded while another one is being encoded changes none of it", () => {
  const inner = upload("inner".repeat(100), 50);
  const outer = upload("outer", 50);
  const { body } = outer;
  Object.defineProperty(outer, "body", {
    get: () => {
      encodeMessage(UploadRequestSchema, inner);
      return body;
    },
  });
  const expected = toBinary(UploadRequestSchema, upload("outer", 50));
  expect(Buffer.compare(encodeMessage(UploadRequestSchema, outer), expected)).toBe(0);
});
