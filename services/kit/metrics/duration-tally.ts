import type { Sample } from "./metrics.ts";

/** Upper bounds in seconds: from half a millisecond, as a small call takes, to a minute, as a large body may take. */
const boundsSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;

/** The durations of one kind of work, counted in buckets. */
export class DurationTally {
  /** The count of each bucket; the last one has no bound. */
  readonly #counts = Array.from({ length: boundsSeconds.length + 1 }, () => 0);
  #sumSeconds = 0;
  #count = 0;

  observe(ms: number): void {
    const seconds = ms / 1000;
    let bucket = 0;
    while (bucket < boundsSeconds.length && seconds > (boundsSeconds[bucket] as number)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#sumSeconds += seconds;
    this.#count += 1;
  }

  /** The lines of a histogram of this name. */
  *samples(name: string, labels: Readonly<Record<string, string>>): Generator<Sample> {
    let total = 0;
    for (const [bucket, bound] of [...boundsSeconds, "+Inf" as const].entries()) {
      total += this.#counts[bucket] as number;
      yield { metricName: `${name}_bucket`, labels: { ...labels, le: bound }, value: total };
    }
    yield { metricName: `${name}_sum`, labels, value: this.#sumSeconds };
    yield { metricName: `${name}_count`, labels, value: this.#count };
  }
}
