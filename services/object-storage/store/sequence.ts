import type { Clock } from "../../kit/clock/clock.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import { sequenceAt } from "../domain/sequence.ts";
import { sequenceCeilings } from "./layout.ts";

/** Orders the changes of a key. */
export interface Sequences {
  /**
   * A sequence that is greater than all that were given before, whatever became of them, and than `above`. Of two
   * transactions that change one key, the one that is committed later has the greater one.
   */
  next(transaction: Transaction, above?: number): Promise<number>;
}

/** How far ahead of what is given the ceiling is set: the time between two writes of it, and the most a restart skips. */
const reserve = sequenceAt(10_000);

const place = ["sequences"] as const;

/**
 * Sequences grow although keys are deleted with all that was known of them, the clock stands or goes back, and the
 * process is started again: what is given stays below a stored ceiling, and after a start it begins there. A
 * transaction that comes to the ceiling raises it itself, so no sequence is stored that a start could give again.
 */
export const openSequences = async (store: Store, clock: Clock): Promise<Sequences> => {
  let ceiling = await store.read(async (reader) => Number((await reader.get(sequenceCeilings, place))?.ceiling ?? 0n));
  let newest = ceiling - 1;
  return {
    next: async (transaction, above = -1) => {
      const sequence = Math.max(sequenceAt(clock.now()), newest + 1, above + 1);
      newest = sequence;
      if (sequence < ceiling) return sequence;
      const stored = Number((await transaction.get(sequenceCeilings, place))?.ceiling ?? 0n);
      if (sequence >= stored) {
        const raised = sequence + reserve;
        transaction.put(sequenceCeilings, place, { ceiling: BigInt(raised) });
        transaction.afterCommit(() => {
          ceiling = raised;
        });
      }
      return sequence;
    },
  };
};
