import { LRUCache } from "lru-cache";

import type { Logger } from "../../kit/log/log.ts";

/** Why deliveries of a rule to a target became dead letters. */
export interface GivenUpCause {
  readonly rule: string;
  readonly target: string;
  readonly code: string;
  readonly message: string;
}

/** Causes that are known; the one that was seen longest ago is forgotten first. */
const causesMax = 1_000;
/** How long a cause is not logged again, in milliseconds. */
const silentMs = 60_000;

/** Logs why deliveries became dead letters: each cause at most once a minute, with their number since then. */
export class GivenUpLog {
  readonly #log: Pick<Logger, "warn">;
  readonly #now: () => number;
  readonly #causes = new LRUCache<string, { loggedMs: number; count: number }>({ max: causesMax });

  constructor(log: Pick<Logger, "warn">, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  add({ rule, target, code, message }: GivenUpCause): void {
    const name = `${code} ${rule} ${target}`;
    const nowMs = this.#now();
    const cause = this.#causes.get(name) ?? { loggedMs: Number.NEGATIVE_INFINITY, count: 0 };
    this.#causes.set(name, cause);
    cause.count += 1;
    // Also once more after the clock was set back.
    if (Math.abs(nowMs - cause.loggedMs) < silentMs) return;
    this.#log.warn({ rule, target, code, reason: message, deliveries: cause.count }, "deliveries became dead letters");
    cause.loggedMs = nowMs;
    cause.count = 0;
  }
}
