import { crc32 } from "node:zlib";

import type { Clock } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import { findOrDamaged, undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import { sequencesPerMs } from "../domain/versioning.ts";
import { sequenceCeilings } from "./layout.ts";

/** Orders the changes of a key. */
export interface Sequences {
  /**
   * Returns a sequence that is greater than all that were returned before, whether or not they were stored, and than
   * `above`. Of two transactions that change one key, the one that is committed later has the greater sequence.
   */
  next(transaction: Transaction, above?: number): Promise<number>;
}

/** Each region has every hundredth sequence: ten in a millisecond, so that they grow while writes are many. */
const regionsMax = 100;

/** How far the ceiling is raised at a time, in sequences: a second of them. A restart skips at most as many. */
const reserve = 1_000 * sequencesPerMs;

/** The place of a region among the sequences: what is left of each of its own when it is divided by `regionsMax`. */
export const placeOfRegion = (region: string): number => crc32(region) % regionsMax;

const ceilingKey = ["sequences"] as const;

/**
 * Sequences follow the clock. They also grow when a key is deleted with everything stored about it, when the clock
 * stands still or goes back, and when the process is restarted: every returned sequence is below a stored ceiling, and
 * after a start sequences begin at it. A transaction that reaches the ceiling raises it itself, so no sequence is
 * stored that could be returned again after a restart. If the ceiling is damaged, they begin at the one that would be
 * stored now. Each region has sequences of its own, so that two regions never give one sequence to versions of one key.
 */
export const openSequences = async (
  store: Store,
  clock: Clock,
  { log, region = "" }: { readonly log?: Pick<Logger, "error">; readonly region?: string } = {},
): Promise<Sequences> => {
  const place = placeOfRegion(region);
  /** The first of this region's from there on. */
  const atOrAfter = (least: number): number => least + ((place - (least % regionsMax) + regionsMax) % regionsMax);
  const found = await store.read((reader) => findOrDamaged(reader.get(sequenceCeilings, ceilingKey)));
  if (found === "damaged") log?.error("the ceiling of sequences is damaged; they go on after those of the clock");
  let ceiling = found === "damaged" ? clock.now() * sequencesPerMs + reserve : Number(found?.ceiling ?? 0n);
  let newest = ceiling - 1;
  return {
    next: async (transaction, above = -1) => {
      const sequence = atOrAfter(Math.max(clock.now() * sequencesPerMs, newest + 1, above + 1));
      newest = sequence;
      if (sequence < ceiling) return sequence;
      const record = await transaction.get(sequenceCeilings, ceilingKey).catch(undefinedIfDamaged);
      const stored = Number(record?.ceiling ?? 0n);
      if (sequence >= stored) {
        const raised = sequence + reserve;
        transaction.put(sequenceCeilings, ceilingKey, { ceiling: BigInt(raised) });
        transaction.afterCommit(() => {
          ceiling = raised;
        });
      }
      return sequence;
    },
  };
};
