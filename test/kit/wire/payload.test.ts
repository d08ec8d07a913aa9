import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { EchoRequestSchema, UploadRequestSchema } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import type { Frame } from "../../../services/kit/wire/frame-parser.ts";
import { FrameParser } from "../../../services/kit/wire/frame-parser.ts";
import { messageCodec } from "../../../services/kit/wire/message-codec.ts";

const codec = messageCodec(UploadRequestSchema);

/** A frame of the message { name: "ab", body: 1 2 3 4 5 6 }, its payload last, and after it an empty message. */
const frames = Buffer.from([0, 0, 0, 0, 12, 0x0a, 2, 0x61, 0x62, 0x12, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0]);

const read = (chunks: readonly Buffer[], limit = 100) => {
  const parsed: Frame[] = [];
  const parser = new FrameParser(limit, codec.findPayload);
  for (const chunk of chunks) parser.push(chunk, parsed);
  return parsed.map((frame) => codec.decodeFrame(frame)).map(({ name, body }) => [name, ...body]);
};

describe("a message whose payload comes last", () => {
  test("is one message when it arrives in one chunk", () => {
    expect(read([frames])).toEqual([["ab", 1, 2, 3, 4, 5, 6], [""]]);
  });

  test("is passed on in pieces as it arrives", () => {
    const chunks = [frames.subarray(0, 13), frames.subarray(13, 14), frames.subarray(14)];
    expect(read(chunks)).toEqual([["ab", 1, 2], ["", 3], ["", 4, 5, 6], [""]]);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])("is gathered when only %i bytes show where the payload is", (size) => {
    const bodies = read([frames.subarray(0, size), frames.subarray(size)]);
    expect(bodies.flatMap(([, ...body]) => body)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(bodies[0]?.[0]).toBe("ab");
    expect(bodies.at(-1)).toEqual([""]);
  });

  test("is refused over the limit although it is not gathered", () => {
    expect(() => read([frames], 11)).toThrow("The message is larger than 11 bytes.");
  });
});

test("a message with another member after its payload is gathered", () => {
  const body = toBinary(UploadRequestSchema, create(UploadRequestSchema, { failure: 1, body: new Uint8Array(6) }));
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), body]);
  expect(read([frame.subarray(0, 9), frame.subarray(9)])).toEqual([["", 0, 0, 0, 0, 0, 0]]);
});

test("a type without a payload has nothing to find", () => {
  expect(messageCodec(EchoRequestSchema).findPayload).toBeUndefined();
});
