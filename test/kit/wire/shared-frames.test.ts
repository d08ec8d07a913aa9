import { expect, test } from "vitest";

import type { Frame } from "../../../services/kit/wire/frame-parser.ts";
import { FrameParser } from "../../../services/kit/wire/frame-parser.ts";
import { decodeSharedFrame, encodeSharedFrame, frameKinds } from "../../../services/kit/wire/shared-frames.ts";

const framesIn = (bytes: Buffer): Frame[] => {
  const frames: Frame[] = [];
  new FrameParser(1_000).push(bytes, frames);
  return frames;
};

test("a call is its kind, its length, its number, the length of its head, its head and its body", () => {
  const bytes = encodeSharedFrame(
    frameKinds.call,
    258,
    "/a.B/C",
    ["x-y", "z\xe9"],
    [Buffer.from([7]), Buffer.from([8])],
  );
  expect(bytes.toString("hex")).toBe(
    ["01", "00000017", "00000102", "0000000d", "2f612e422f43", "00782d79", "007ae9", "0708"].join(""),
  );
  expect(framesIn(bytes).map(decodeSharedFrame)).toEqual([
    { kind: 1, call: 258, first: "/a.B/C", headers: { "x-y": "z\xe9" }, body: Buffer.from([7, 8]) },
  ]);
});

test.each([
  // what a header would end with
  ["a zero byte", "a\0x-more"],
  ["a line end", "a\r\nb"],
  ["a character that is not Latin-1", "a€"],
])("a header with %s is not encoded", (_what, value) => {
  expect(() => encodeSharedFrame(frameKinds.call, 1, "/a.B/C", ["x-y", value], [])).toThrow(TypeError);
});

test.each([
  // refusal, message of the frame
  ["A frame is too short.", "00000001"],
  ["A frame is shorter than its head.", "00000001000000022f"],
])("refuses a frame: %s", (refusal, message) => {
  expect(() => decodeSharedFrame({ flags: 1, body: Buffer.from(message, "hex") })).toThrow(refusal);
});
