import { createHash } from "node:crypto";

import { expect, test } from "vitest";

import { Md5Lanes } from "../../../services/kit/digests/md5-lanes.ts";

const md5 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex");

/** Bytes that differ from one content to the next, and repeat nothing within 64 KiB. */
const contentOf = (content: number, sizeBytes: number): Buffer => {
  const bytes = Buffer.alloc(sizeBytes);
  let value = content + 1;
  for (let at = 0; at < sizeBytes; at += 1) {
    value = (Math.imul(value, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = value >>> 16;
  }
  return bytes;
};

const piecesOf = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_none, piece) =>
    bytes.subarray(piece * size, (piece + 1) * size),
  );

test("the digests are those of the examples that define MD5", () => {
  const lanes = new Md5Lanes();
  const examples = {
    "": "d41d8cd98f00b204e9800998ecf8427e",
    a: "0cc175b9c0f1b6a831c399e269772661",
    abc: "900150983cd24fb0d6963f7d28e17f72",
    "message digest": "f96b697d7cb7938d525a2f31aaf161d0",
    "12345678901234567890123456789012345678901234567890123456789012345678901234567890":
      "57edf4a22be3c955ac49da2e2107b67a",
  };
  for (const [text, digest] of Object.entries(examples)) {
    const open = lanes.open();
    open.update(Buffer.from(text));
    expect(Buffer.from(open.finish()).toString("hex")).toBe(digest);
  }
});

test("a content of any length around the end of a block is padded", () => {
  const lanes = new Md5Lanes();
  for (let size = 0; size <= 130; size += 1) {
    const bytes = contentOf(size, size);
    const open = lanes.open();
    open.update(bytes);
    expect(Buffer.from(open.finish()).toString("hex")).toBe(md5(bytes));
  }
});

test.each([1, 2, 3, 4, 5, 8, 9, 20])("%i contents that arrive at the same time have their own digests", (count) => {
  const lanes = new Md5Lanes();
  const contents = Array.from({ length: count }, (_none, content) => contentOf(content, 700_000 + content * 70_001));
  const opened = contents.map(() => lanes.open());
  const digests: string[] = [];
  const pieces = contents.map((bytes, content) => piecesOf(bytes, 30_011 + content * 7_001));
  const turns = Math.max(...pieces.map(({ length }) => length));
  for (let turn = 0; turn < turns; turn += 1)
    for (const [content, open] of opened.entries()) {
      const piece = pieces[content]![turn];
      if (piece !== undefined) open.update(piece);
      if (turn === pieces[content]!.length - 1) digests[content] = Buffer.from(open.finish()).toString("hex");
    }
  expect(digests).toEqual(contents.map(md5));
});

test("a content that stops, and one that is given up, hold up no other and keep few bytes waiting", () => {
  const lanes = new Md5Lanes();
  const stopped = lanes.open();
  const givenUp = lanes.open();
  const first = contentOf(1, 5_000);
  stopped.update(first);
  givenUp.update(contentOf(2, 90_000));
  const running = lanes.open();
  const bytes = contentOf(3, 8_000_000);
  const waiting: number[] = [];
  for (const piece of piecesOf(bytes, 65_536)) {
    running.update(piece);
    waiting.push(lanes.waitingBytes);
  }
  expect(Math.max(...waiting)).toBeGreaterThan(2_000_000);
  expect(Math.max(...waiting)).toBeLessThanOrEqual(2 * 1024 * 1024);
  givenUp.close();
  givenUp.close();
  expect(Buffer.from(running.finish()).toString("hex")).toBe(md5(bytes));
  expect(lanes.waitingBytes).toBeLessThanOrEqual(5_000);
  const rest = contentOf(4, 1_000_000);
  stopped.update(rest);
  expect(Buffer.from(stopped.finish()).toString("hex")).toBe(md5(Buffer.concat([first, rest])));
  expect(lanes.waitingBytes).toBe(0);
});

test.each([63, 64, 1_023, 1_024])("thousands of contents of which %i bytes have arrived hold up nothing", (first) => {
  const lanes = new Md5Lanes();
  const contents = Array.from({ length: 2_200 }, (_none, content) => contentOf(content, first + 1_500));
  const opened = contents.map(() => lanes.open());
  for (const [content, open] of opened.entries()) open.update(contents[content]!.subarray(0, first));
  expect(lanes.waitingBytes).toBeLessThanOrEqual(2 * 1024 * 1024);
  for (const [content, open] of opened.entries()) open.update(contents[content]!.subarray(first));
  const digests = opened.map((open) => Buffer.from(open.finish()).toString("hex"));
  expect(digests).toEqual(contents.map(md5));
  expect(lanes.waitingBytes).toBe(0);
});
