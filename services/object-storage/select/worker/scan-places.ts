import { refusal } from "../refusal.ts";

/** How places are shared. */
export interface ScanPlacesOptions {
  /** Scans that run at the same time; one more for an account that has none. */
  readonly threads: number;
  /** Scans of one account that wait for each of these; more are refused. Unset: 16. */
  readonly waitingPerThread?: number;
  /** How long an account without a place waits before a scan that has had one as long ends. Unset: a minute. */
  readonly turnMs?: number;
}

/** A place that a scan has. */
export interface ScanPlace {
  /** Called when the place is for another account now. The scan leaves it as soon as it has ended. */
  onTakenBack: (() => void) | undefined;
}

interface Taken extends ScanPlace {
  readonly accountId: string;
  readonly timer: NodeJS.Timeout;
  hadItsTurn: boolean;
  isTakenBack: boolean;
}

interface Waiting {
  readonly accountId: string;
  readonly admit: (place: ScanPlace) => void;
  readonly timer: NodeJS.Timeout;
  hasWaitedLong: boolean;
}

/** Accounts whose scans may wait as many as one account's may. */
const waitingAccounts = 4;

/**
 * The places in which scans run, shared by accounts:
 *  - an account may take all places that nobody else wants, and one more place is only for an account that has none;
 *  - of those that wait, the account with the fewest places is next, of several the one that had its turn longest ago;
 *  - after a time, an account without a place gets that of another one's scan, so each has its turn.
 */
export class ScanPlaces {
  readonly #threads: number;
  readonly #waitingMax: number;
  readonly #turnMs: number;
  readonly #taken = new Set<Taken>();
  readonly #waiting = new Set<Waiting>();
  /** When each account with a place or in the queue had its last turn, as a count of turns. */
  readonly #lastTurns = new Map<string, number>();
  #turns = 0;

  constructor({ threads, waitingPerThread = 16, turnMs = 60_000 }: ScanPlacesOptions) {
    this.#threads = threads;
    this.#waitingMax = threads * waitingPerThread;
    this.#turnMs = turnMs;
  }

  /** Waits for a place. Throws SELECT_BUSY if too many wait, and the signal's reason once it is aborted. */
  async enter(accountId: string, signal: AbortSignal): Promise<ScanPlace> {
    signal.throwIfAborted();
    if (this.#mayStart(accountId)) return this.#take(accountId);
    const own = count(this.#waiting, accountId);
    if (own >= this.#waitingMax || this.#waiting.size >= this.#waitingMax * waitingAccounts)
      throw refusal("SELECT_BUSY");
    const { promise, resolve, reject } = Promise.withResolvers<ScanPlace>();
    const waiting: Waiting = {
      accountId,
      admit: resolve,
      hasWaitedLong: false,
      timer: this.#afterTurn(() => (waiting.hasWaitedLong = true)),
    };
    const onAbort = (): void => {
      this.#forget(waiting);
      reject(signal.reason as Error);
    };
    this.#waiting.add(waiting);
    signal.addEventListener("abort", onAbort);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Gives a place back: the scan in it has ended. */
  leave(place: ScanPlace): void {
    const taken = place as Taken;
    clearTimeout(taken.timer);
    this.#taken.delete(taken);
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#forget(next);
      next.admit(this.#take(next.accountId));
    }
    this.#forgetTurn(taken.accountId);
    this.#takeBack();
  }

  #mayStart(accountId: string): boolean {
    const all = this.#taken.size;
    return all < this.#threads || (all === this.#threads && count(this.#taken, accountId) === 0);
  }

  #take(accountId: string): ScanPlace {
    const taken: Taken = {
      accountId,
      onTakenBack: undefined,
      hadItsTurn: false,
      isTakenBack: false,
      timer: this.#afterTurn(() => (taken.hadItsTurn = true)),
    };
    this.#taken.add(taken);
    this.#lastTurns.set(accountId, (this.#turns += 1));
    return taken;
  }

  /** The one that is admitted next, if there is a place for it. */
  #next(): Waiting | undefined {
    const admissible = [...this.#waiting].filter(({ accountId }) => this.#mayStart(accountId));
    const places = ({ accountId }: Waiting): number => count(this.#taken, accountId);
    const turn = ({ accountId }: Waiting): number => this.#lastTurns.get(accountId) ?? 0;
    return admissible.toSorted((a, b) => places(a) - places(b) || turn(a) - turn(b))[0];
  }

  #forget(waiting: Waiting): void {
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting);
    this.#forgetTurn(waiting.accountId);
  }

  #forgetTurn(accountId: string): void {
    if (count(this.#taken, accountId) + count(this.#waiting, accountId) === 0) this.#lastTurns.delete(accountId);
  }

  #afterTurn(mark: () => void): NodeJS.Timeout {
    return setTimeout(() => {
      mark();
      this.#takeBack();
    }, this.#turnMs).unref();
  }

  /** Takes a place back for each account that has waited for its turn: of the account with most, the oldest. */
  #takeBack(): void {
    const late = new Set([...this.#waiting].filter((each) => each.hasWaitedLong).map(({ accountId }) => accountId));
    const wanting = [...late].filter((accountId) => count(this.#taken, accountId) === 0).length;
    const ending = [...this.#taken].filter(({ isTakenBack }) => isTakenBack).length;
    for (let missing = wanting - ending; missing > 0; missing -= 1) {
      const staying = [...this.#taken].filter(({ isTakenBack }) => !isTakenBack);
      const [longest] = staying
        .filter(({ hadItsTurn }) => hadItsTurn)
        .toSorted((a, b) => count(staying, b.accountId) - count(staying, a.accountId));
      if (longest === undefined) return;
      longest.isTakenBack = true;
      longest.onTakenBack?.();
    }
  }
}

const count = (all: Iterable<{ readonly accountId: string }>, accountId: string): number => {
  let found = 0;
  for (const each of all) if (each.accountId === accountId) found += 1;
  return found;
};
