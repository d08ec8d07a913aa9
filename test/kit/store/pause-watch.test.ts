import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { watchPauses } from "../../../services/kit/store/pause-watch.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a process that runs all the time has no pause", () => {
  const watch = watchPauses(Date.now);
  vi.advanceTimersByTime(60_000);
  expect(watch.isJustOver).toBe(false);
  watch.stop();
});

test("a pause is noticed before the next beat, and for half a second after it", () => {
  const watch = watchPauses(Date.now);
  vi.setSystemTime(Date.now() + 2_000);
  expect(watch.isJustOver).toBe(true);
  vi.advanceTimersByTime(500);
  expect(watch.isJustOver).toBe(true);
  vi.advanceTimersByTime(499);
  expect(watch.isJustOver).toBe(true);
  vi.advanceTimersByTime(1);
  expect(watch.isJustOver).toBe(false);
  watch.stop();
});

test("it ends when it is stopped", () => {
  watchPauses(Date.now).stop();
  expect(vi.getTimerCount()).toBe(0);
});
