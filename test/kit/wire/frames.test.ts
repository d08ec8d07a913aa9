import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";

import type { Frame } from "../../../services/kit/wire/frame-parser.ts";
import { FrameParser, frameParts } from "../../../services/kit/wire/frame-parser.ts";
import { FrameQueue } from "../../../services/kit/wire/frame-queue.ts";

const shown = (frames: readonly Frame[]) => frames.map(({ flags, body }) => [flags, ...body]);
const twoFrames = Buffer.from([0, 0, 0, 0, 3, 7, 8, 9, 2, 0, 0, 0, 1, 5]);

describe("the frame parser", () => {
  test("cuts frames out of one chunk without copying", () => {
    const frames: Frame[] = [];
    new FrameParser(100).push(twoFrames, frames);
    expect(shown(frames)).toEqual([
      [0, 7, 8, 9],
      [2, 5],
    ]);
    expect(frames[0]?.body.buffer).toBe(twoFrames.buffer);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 13])("joins frames that arrive in chunks of %i bytes", (size) => {
    const frames: Frame[] = [];
    const parser = new FrameParser(100);
    for (let offset = 0; offset < twoFrames.length; offset += size)
      parser.push(twoFrames.subarray(offset, offset + size), frames);
    expect(shown(frames)).toEqual([
      [0, 7, 8, 9],
      [2, 5],
    ]);
    expect(parser.isWithinFrame).toBe(false);
  });

  test("takes an empty frame at the very end of a chunk", () => {
    const frames: Frame[] = [];
    new FrameParser(100).push(Buffer.from([0, 0, 0, 0, 0]), frames);
    expect(shown(frames)).toEqual([[0]]);
  });

  test("refuses a length over the limit before it allocates", () => {
    const parser = new FrameParser(1000);
    expect(() => parser.push(Buffer.from([0, 0, 0, 3, 0xe9]), [])).toThrow("The message is larger than 1000 bytes.");
    expect(() => new FrameParser(1000).push(Buffer.from([0, 0, 0, 3, 0xe8]), [])).not.toThrow();
  });
});

describe("the parts of a frame", () => {
  test("are one buffer when the message is small", () => {
    expect(frameParts(1, [Buffer.from([9, 9])], 2).map((part) => [...part])).toEqual([[1, 0, 0, 0, 2, 9, 9]]);
  });

  test("are a header and the message itself when it is large", () => {
    const large = new Uint8Array(5000);
    const parts = frameParts(0, [large], 5000);
    expect([...(parts[0] as Uint8Array)]).toEqual([0, 0, 0, 0x13, 0x88]);
    expect(parts[1]).toBe(large);
  });
});

/** A queue and what it does with its source. */
const open = () => {
  const flow: string[] = [];
  const queue = new FrameQueue(100, { pause: () => flow.push("pause"), resume: () => flow.push("resume") });
  return { flow, queue };
};

describe("the frame queue", () => {
  test("lets its source go on while its reader keeps up, and stops it when a chunk finds frames of another", async () => {
    const { flow, queue } = open();
    expect(flow).toEqual([]);
    const first = queue.next();
    expect(flow).toEqual(["resume"]);
    queue.push(twoFrames);
    expect((await first)?.flags).toBe(0);
    expect((await queue.next())?.flags).toBe(2);
    expect(flow).toEqual(["resume"]);
    queue.push(twoFrames);
    expect(flow).toEqual(["resume"]);
    queue.push(twoFrames);
    expect(flow).toEqual(["resume", "pause"]);
    for (const flags of [0, 2, 0]) expect((await queue.next())?.flags).toBe(flags);
    expect(flow).toEqual(["resume", "pause"]);
    expect((await queue.next())?.flags).toBe(2);
    expect(flow).toEqual(["resume", "pause", "resume"]);
  });

  test("ends after its last frame", async () => {
    const { queue } = open();
    queue.push(twoFrames);
    queue.end();
    expect([(await queue.next())?.flags, (await queue.next())?.flags, await queue.next()]).toEqual([0, 2, undefined]);
  });

  test("refuses a stream that ends within a frame", async () => {
    const { queue } = open();
    queue.push(twoFrames.subarray(0, 7));
    queue.end();
    await expect(queue.next()).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  test("throws a failure to the reader that waits and to each later one", async () => {
    const { queue } = open();
    const waiting = queue.next();
    queue.fail(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    await expect(queue.next()).rejects.toThrow("gone");
  });
});
