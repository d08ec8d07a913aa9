import { expect, test } from "vitest";

import { frameParts } from "../../../services/kit/wire/frame-parser.ts";
import { FrameQueue } from "../../../services/kit/wire/frame-queue.ts";

const mebibyte = 1024 * 1024;
const chunkBytes = 256 * 1024;
const flow = { pause: () => {}, resume: () => {} };

/** The most bytes of buffers that there are beside those of before, while 60 MiB pass in chunks. */
const mostHeld = async (pass: (chunk: Buffer) => unknown): Promise<number> => {
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let passed = 0; passed < 60 * mebibyte; passed += chunkBytes) {
    await pass(Buffer.allocUnsafeSlow(chunkBytes));
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  return most;
};

test("buffers that nobody uses any more are collected while they pass", async () => {
  expect(await mostHeld((chunk) => frameParts(0, [chunk], chunk.length).length)).toBeLessThan(20 * mebibyte);

  const received = await mostHeld((chunk) => {
    const queue = new FrameQueue(chunkBytes, flow);
    chunk.writeUInt32BE(chunkBytes - 5, 1);
    queue.push(chunk);
    return queue.next();
  });
  expect(received).toBeLessThan(20 * mebibyte);
});
