import { describe, expect, test } from "vitest";

import type { RateState } from "../../../services/event-bus/domain/rate-limit.ts";
import { afterRequest, atRate, requestsNow } from "../../../services/event-bus/domain/rate-limit.ts";

/** The instants at which requests are sent of which many wait from 1,000 ms on, each as soon as it may be. */
const sent = (perSecond: number, count: number, started?: RateState): number[] => {
  let state = started;
  let nowMs = 1_000;
  const instants: number[] = [];
  while (instants.length < count) {
    const now = requestsNow(state, perSecond, nowMs);
    if (now.count === 0) nowMs = now.againMs;
    else {
      instants.push(nowMs);
      state = afterRequest(state, perSecond, nowMs);
    }
  }
  return instants;
};

describe("requestsNow", () => {
  test("spaces the requests of one second evenly", () => {
    expect(sent(1, 3)).toEqual([1_000, 2_000, 3_000]);
    expect(sent(4, 4)).toEqual([1_000, 1_250, 1_500, 1_750]);
    expect(sent(300, 904).filter((atMs) => atMs >= 2_000 && atMs < 3_000)).toHaveLength(300);
  });

  test("lets a tenth of a second's requests go at once after a pause", () => {
    expect(requestsNow(undefined, 40, 1_000)).toEqual({ count: 4, againMs: 1_025 });
    expect(sent(40, 5)).toEqual([1_000, 1_000, 1_000, 1_000, 1_025]);
  });

  test("sends no more at once because it was asked late", () => {
    const state = afterRequest(undefined, 10, 1_000);
    expect(requestsNow(state, 10, 5_000)).toEqual({ count: 1, againMs: 5_100 });
  });

  test("goes on at once when the clock was set back", () => {
    const state = afterRequest(undefined, 4, 86_400_000);
    expect(sent(4, 3, state)).toEqual([1_000, 1_250, 1_500]);
  });

  test("follows a limit that grew within the spacing of the new one", () => {
    const state = atRate(afterRequest(undefined, 1, 1_000), 1_000, 1_000);
    expect(sent(1_000, 3, state)).toEqual([1_001, 1_002, 1_003]);
  });
});
