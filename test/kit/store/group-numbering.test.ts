import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { DurableFile } from "../../../services/kit/store/durable-file.ts";
import { GroupNumbering } from "../../../services/kit/store/group-numbering.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);

/** A durable file that fails as it is told to, and what is done with it. */
const noting = (fails: { write?: Error; sync?: Error } = {}) => {
  const done: string[] = [];
  const file = {
    write: ({ number }: { readonly number: number }) => {
      done.push(`write ${number}`);
      if (fails.write !== undefined) throw fails.write;
    },
    sync: async () => {
      done.push("sync");
      if (fails.sync !== undefined) throw fails.sync;
    },
    close: () => void done.push("close"),
  };
  return {
    done,
    numbering: new GroupNumbering(new FakeClock(nowMs), { number: 7, timeMs: 1 }, file as unknown as DurableFile),
  };
};

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

test("groups are numbered one after the other, when they are durable", () => {
  const { numbering } = noting();
  expect([numbering.next(), numbering.next()].map(({ number }) => number)).toEqual([8, 8]);
  numbering.written({ number: 8, timeMs: nowMs });
  expect(numbering.next()).toEqual({ number: 9, timeMs: nowMs });
});

test("the last number is written 5 ms after a group, once for all of that time, and synced a second later", async () => {
  const { done, numbering } = noting();
  numbering.written({ number: 8, timeMs: nowMs });
  await vi.advanceTimersByTimeAsync(4);
  numbering.written({ number: 9, timeMs: nowMs });
  expect(done).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(done).toEqual(["write 9"]);
  await vi.advanceTimersByTimeAsync(999);
  expect(done).toEqual(["write 9"]);
  await vi.advanceTimersByTimeAsync(1);
  expect(done).toEqual(["write 9", "sync"]);
  numbering.written({ number: 10, timeMs: nowMs });
  await numbering.close();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(done).toEqual(["write 9", "sync", "write 10", "sync", "close"]);
});

test.each([
  ["written", { write: new Error("the disk is full") }, 5, "the disk is full"],
  ["synced", { sync: new Error("the disk is gone") }, 1_005, "the disk is gone"],
])("no group follows when the number cannot be %s", async (_what, fails, afterMs, message) => {
  const { numbering } = noting(fails);
  numbering.written({ number: 8, timeMs: nowMs });
  await vi.advanceTimersByTimeAsync(afterMs - 1);
  expect(numbering.next().number).toBe(9);
  await vi.advanceTimersByTimeAsync(1);
  expect(() => numbering.next()).toThrow(message);
});

test("nothing is written about groups that are not durable", async () => {
  const numbering = new GroupNumbering(new FakeClock(nowMs), { number: 7, timeMs: 1 });
  numbering.written({ number: 8, timeMs: nowMs });
  expect([vi.getTimerCount(), numbering.next().number]).toEqual([0, 9]);
  await numbering.close();
});
