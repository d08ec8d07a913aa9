import { describe, expect, test } from "vitest";

import type { CircuitState } from "../../../services/event-bus/domain/circuit.ts";
import {
  afterFailure,
  afterSuccess,
  isOpen,
  isResting,
  newCircuit,
} from "../../../services/event-bus/domain/circuit.ts";

const failed = (state: CircuitState, nowMs: number, notBeforeMs?: number): CircuitState =>
  afterFailure(state, { nowMs, notBeforeMs, random: 1 });

/** A circuit that opened at an instant. */
const openedAt = (nowMs: number): CircuitState => {
  let state = newCircuit;
  for (let count = 0; count < 5; count += 1) state = failed(state, nowMs);
  return state;
};

describe("a circuit", () => {
  test("opens with the fifth failure in a row", () => {
    let state = newCircuit;
    const opened: boolean[] = [];
    for (let count = 0; count < 5; count += 1) {
      state = failed(state, 1_000);
      opened.push(isOpen(state));
    }
    expect(opened).toEqual([false, false, false, false, true]);
    expect(isOpen(failed(afterSuccess(failed(newCircuit, 1_000), 32), 1_000))).toBe(false);
  });

  test("waits twice as long after each failed probe, up to 30 seconds", () => {
    let state = openedAt(0);
    const waits: number[] = [];
    for (let probes = 0; probes < 7; probes += 1) {
      const nowMs = state.probeMs;
      waits.push(nowMs);
      state = failed(state, nowMs);
    }
    expect(waits).toEqual([1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000]);
  });

  test("is not changed by attempts that began before it opened", () => {
    const state = openedAt(1_000);
    expect(failed(state, 1_999)).toEqual(state);
  });

  test.each([
    // Retry-After | the next probe
    [5_000, 5_000],
    [500, 1_000],
    [86_400_000, 600_000],
  ])("waits for a Retry-After at %i ms until %i ms", (notBeforeMs, probeMs) => {
    let state = newCircuit;
    for (let count = 0; count < 5; count += 1) state = failed(state, 0, notBeforeMs);
    expect(state.probeMs).toBe(probeMs);
  });

  test("rests until its probe, and no longer when the clock is set back", () => {
    const state = openedAt(86_400_000);
    expect([86_400_999, 86_401_000, 0].map((nowMs) => isResting(state, nowMs))).toEqual([true, false, false]);
    expect(failed(state, 0).probeMs).toBe(2_000);
  });

  test("closes with a success, and lets more attempts run with each", () => {
    let state = afterSuccess(openedAt(0), 4);
    expect(state).toEqual({ failures: 0, room: 3, probeMs: 0 });
    state = afterSuccess(afterSuccess(state, 4), 4);
    expect(state.room).toBe(4);
    expect(failed(state, 0).room).toBe(2);
  });
});
