import { describe, expect, test } from "vitest";

import { FrameQueue } from "../../../services/kit/wire/frame-queue.ts";
import { KeptBuffers } from "../../../services/kit/wire/kept-buffers.ts";
import { giveBack, hold, isLent, lend, lendToFree } from "../../../services/kit/wire/lent-memory.ts";
import { messageCodec } from "../../../services/kit/wire/message-codec.ts";
import { DownloadResponseSchema } from "../../../gen/quartet/test/v1/test_service_pb.ts";

/** Bytes in memory of their own, and how often it was returned. */
const lent = (size = 8) => {
  const bytes = Buffer.alloc(size, 7);
  const returned = { times: 0 };
  lend(bytes, () => {
    returned.times += 1;
  });
  return { bytes: Buffer.from(bytes.buffer), returned };
};

describe("lent memory", () => {
  test("is returned once, when its last holder gives it back", () => {
    const { bytes, returned } = lent();
    hold(bytes.subarray(2, 4));
    giveBack(bytes.subarray(0, 2));
    expect([returned.times, isLent(bytes)]).toEqual([0, true]);
    giveBack(bytes.subarray(2, 4));
    giveBack(bytes);
    expect([returned.times, isLent(bytes)]).toEqual([1, false]);
  });

  test("can be freed: bytes in it have no length then", () => {
    const bytes = new Uint8Array(1_000);
    const part = bytes.subarray(10);
    lendToFree(bytes);
    giveBack(part);
    expect([bytes.length, part.length, part[0]]).toEqual([0, 0, undefined]);
  });

  test("is not freed where others may have a part of it", () => {
    // In the pool of small buffers.
    const milk = Buffer.from("milk");
    lendToFree(milk);
    giveBack(milk);
    expect([milk.toString(), isLent(milk)]).toEqual(["milk", false]);
  });

  test("that is not lent is not touched", () => {
    const bytes = Buffer.from("milk");
    hold(bytes);
    giveBack(bytes);
    expect(bytes.toString()).toBe("milk");
  });
});

describe("a chunk in lent memory", () => {
  const flow = { pause: () => {}, resume: () => {} };
  const { findPayload, payloadHead } = messageCodec(DownloadResponseSchema);
  /** The beginning of a frame with a payload of so many bytes, and of the next one. */
  const begun = (payload: Buffer, nextBytes: number): Buffer => {
    const framed = (size: number): Buffer => {
      const head = payloadHead(size);
      const header = Buffer.alloc(5);
      header.writeUInt32BE(head.length + size, 1);
      return Buffer.concat([header, head]);
    };
    return Buffer.concat([framed(payload.length), payload, framed(nextBytes), Buffer.from("next")]);
  };
  const push = (queue: FrameQueue, bytes: Buffer) => {
    const chunk = Buffer.alloc(bytes.length);
    bytes.copy(chunk);
    const returned = { times: 0 };
    queue.pushLent(chunk, () => {
      returned.times += 1;
    });
    return { chunk, returned };
  };

  test("is returned when the payloads in it are given back, and other bytes do not refer to it", async () => {
    const queue = new FrameQueue(1_000_000, flow, findPayload);
    const whole = begun(Buffer.alloc(100, 1), 1_000);
    const { chunk, returned } = push(queue, whole);
    const frame = await queue.next();
    const next = await queue.next();
    expect(returned.times).toBe(0);
    giveBack(next!.payload!);
    expect(returned.times).toBe(1);
    const { length } = frame!.body;
    chunk.fill(9);
    expect([length, frame!.body.includes(9)]).toEqual([102, false]);
  });

  test("is returned at once without a payload, and when its reading was given up", async () => {
    const queue = new FrameQueue(1_000_000, flow, findPayload);
    expect(push(queue, Buffer.from([0, 0])).returned.times).toBe(1);
    expect(push(queue, Buffer.from([0, 0, 0])).returned.times).toBe(1);
    const waiting = push(queue, begun(Buffer.alloc(100), 1_000));
    expect(waiting.returned.times).toBe(0);
    queue.fail(new Error("left"));
    expect(waiting.returned.times).toBe(1);
    expect(push(queue, Buffer.from("late")).returned.times).toBe(1);
  });

  test("is returned once if it is malformed", async () => {
    const queue = new FrameQueue(100, flow, findPayload);
    const { returned } = push(
      queue,
      Buffer.concat([begun(Buffer.alloc(10), 20), Buffer.alloc(16), Buffer.alloc(5, 255)]),
    );
    await expect(queue.next()).rejects.toThrow("larger than 100 bytes");
    expect(returned.times).toBe(1);
  });
});

describe("kept buffers", () => {
  test("are used again", () => {
    const buffers = new KeptBuffers(100, 2);
    const [one, other] = [buffers.take(), buffers.take()];
    buffers.put(one);
    expect([one.length, buffers.take() === one, other === one]).toEqual([100, true, false]);
  });

  test("are not kept without a bound, nor of another size", () => {
    const buffers = new KeptBuffers(100, 2);
    const taken = [buffers.take(), Buffer.allocUnsafeSlow(50), buffers.take(), buffers.take()];
    for (const buffer of taken) buffers.put(buffer);
    expect(taken.map(({ length }) => length)).toEqual([100, 0, 100, 0]);
  });
});
