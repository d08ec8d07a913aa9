import type { Clock } from "../../services/kit/clock/clock.ts";

interface Timer {
  atMs: number;
  readonly run: () => void;
}

/** A clock that stands still until a test moves it. Due timers run in the order of their instants. */
export class FakeClock implements Clock {
  #nowMs: number;
  readonly #timers = new Set<Timer>();

  constructor(startMs: number = Date.UTC(2026, 0, 2, 3, 4, 5)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  schedule(atMs: number, run: () => void): () => void {
    const timer = { atMs, run };
    this.#timers.add(timer);
    if (atMs <= this.#nowMs) queueMicrotask(() => this.#fireDue());
    return () => this.#timers.delete(timer);
  }

  advance(ms: number): void {
    this.set(this.#nowMs + ms);
  }

  set(toMs: number): void {
    this.#nowMs = toMs;
    this.#fireDue();
  }

  /** The machine's time is corrected backwards. Pending timers run after the delay that they have left. */
  setBack(ms: number): void {
    this.#nowMs -= ms;
    const pending = [...this.#timers];
    for (const timer of pending) timer.atMs -= ms;
  }

  /** The instants of all pending timers, earliest first. */
  pending(): number[] {
    return [...this.#timers].map((timer) => timer.atMs).toSorted((a, b) => a - b);
  }

  #fireDue(): void {
    for (;;) {
      const due = [...this.#timers]
        .filter((timer) => timer.atMs <= this.#nowMs)
        .toSorted((a, b) => a.atMs - b.atMs)
        .at(0);
      if (due === undefined) return;
      this.#timers.delete(due);
      due.run();
    }
  }
}
