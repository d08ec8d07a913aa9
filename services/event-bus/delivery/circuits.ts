import type { Clock } from "../../kit/clock/clock.ts";
import { growingCache } from "../../kit/collections/growing-cache.ts";
import type { OwnerRoom } from "../../kit/jobs/jobs.ts";
import type { CircuitState } from "../domain/circuit.ts";
import { afterFailure, afterSuccess, isOpen, isResting, newCircuit } from "../domain/circuit.ts";

/** Destinations whose state is in memory; the state of the least recently used one is dropped first. */
const destinationsMax = 100_000;

/** The parts and bounds of circuits. */
interface CircuitsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Attempts to one destination at the same time. */
  readonly roomMax: number;
}

/**
 * A circuit for each destination. After several failures in a row it is open: one attempt is made at a time, and the
 * other deliveries wait without an attempt. All state is in memory: after a restart it is learned again.
 */
export class Circuits {
  readonly #options: CircuitsOptions;
  #openCount = 0;
  readonly #states = growingCache<string, CircuitState>(destinationsMax, (state) => {
    if (isOpen(state)) this.#openCount -= 1;
  });

  constructor(options: CircuitsOptions) {
    this.#options = options;
  }

  get openCount(): number {
    return this.#openCount;
  }

  /** True if the last attempt to a destination succeeded, or failed in a way that no other attempt would change. */
  isAnswering(destination: string): boolean {
    return this.#states.get(destination)?.failures === 0;
  }

  /** How many attempts may start now next to those that run. */
  roomOf(destination: string, running: number, nowMs: number): OwnerRoom {
    const state = this.#states.get(destination) ?? newCircuit;
    if (!isOpen(state)) return { count: Math.max(0, state.room - running), againMs: Number.POSITIVE_INFINITY };
    if (running > 0) return { count: 0, againMs: Number.POSITIVE_INFINITY };
    return isResting(state, nowMs)
      ? { count: 0, againMs: state.probeMs }
      : { count: 1, againMs: Number.POSITIVE_INFINITY };
  }

  succeeded(destination: string): void {
    const state = this.#states.get(destination);
    this.#change(destination, state, afterSuccess(state ?? newCircuit, this.#options.roomMax));
  }

  /** An attempt failed that may succeed later, not before an instant if the destination named one. */
  failed(destination: string, notBeforeMs: number | undefined): void {
    const { clock, random } = this.#options;
    const failure = { nowMs: clock.now(), notBeforeMs, random: random() };
    const state = this.#states.get(destination);
    this.#change(destination, state, afterFailure(state ?? newCircuit, failure));
  }

  #change(destination: string, before: CircuitState | undefined, state: CircuitState): void {
    if (state === before) return;
    if (isOpen(state)) this.#openCount += 1;
    this.#states.set(destination, state);
  }
}
