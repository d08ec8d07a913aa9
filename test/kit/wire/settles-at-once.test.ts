import { setImmediate as turn } from "node:timers/promises";

import { expect, test } from "vitest";

import { settlesAtOnce } from "../../../services/kit/wire/settles-at-once.ts";

async function* counted(last: number) {
  for (let number = 1; number <= last; number += 1) yield number;
}

const isDone = ({ done }: { done?: boolean | undefined }): boolean => done === true;

test("what needs no waiting settles at once, through any number of layers", async () => {
  const numbers = counted(1);
  await numbers.next();
  async function* outer() {
    yield* numbers;
  }
  expect(await settlesAtOnce(outer().next(), isDone)).toBe(true);
});

test("a value without the property, a failure and what waits for the event loop do not count", async () => {
  const failed = Promise.reject(new Error("lost"));
  expect(await settlesAtOnce(counted(1).next(), isDone)).toBe(false);
  expect(await settlesAtOnce(failed, () => true)).toBe(false);
  expect(await settlesAtOnce(turn().then(turn), () => true)).toBe(false);
  await expect(failed).rejects.toThrow("lost");
});
