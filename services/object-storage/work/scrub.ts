import type { Clock } from "../../kit/clock/clock.ts";
import { isStillAhead } from "../../kit/clock/clock.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Metrics } from "../../kit/metrics/metrics.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { blobShards } from "../blobs/blob-store.ts";
import { quarantine, scrubProgress } from "../store/layout.ts";
import type { ScrubBlobsOptions } from "./scrub-blobs.ts";
import { scrubBlobs } from "./scrub-blobs.ts";
import { scrubPace } from "./scrub-pace.ts";
import type { RecordsReport } from "./scrub-records.ts";
import { scrubRecords } from "./scrub-records.ts";

/** What the check of all stored data works with. */
export interface ScrubOptions extends ScrubBlobsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** From the beginning of one round to the beginning of the next, in milliseconds. */
  readonly intervalMs: number;
  /** How much is read, in bytes a second. */
  readonly bytesPerSecond: number;
}

/** What was checked since the start, and how much of what is stored is damaged. */
export interface ScrubStats {
  readonly records: number;
  readonly blobs: number;
  readonly bytes: number;
  readonly quarantined: number;
}

/** The check of all stored data, which runs in rounds. */
export interface Scrub {
  /** Goes on with the current round, or begins the next one if it is time; resolves at its end or when aborted. */
  run(signal: AbortSignal): Promise<void>;
  stats(): ScrubStats;
}

const damagedEntry = (error: unknown): { readonly foundMs?: bigint } => undefinedIfDamaged(error) ?? {};

/** Some entries of the list after one that this round has not found. */
const listUnseen = async (reader: Reader, roundBeganMs: bigint, after: string | undefined): Promise<string[]> => {
  const unseen: string[] = [];
  for await (const { key, value } of walkTable(reader, quarantine, {
    after: after === undefined ? undefined : [after],
  })) {
    if (value?.seenMs !== roundBeganMs) unseen.push(key[0]);
    if (unseen.length === batchMax) break;
  }
  return unseen;
};

/** What one step of a round found. */
type StepReport = Pick<RecordsReport, "damages" | "unlistedCount">;

const progressKey = ["scrub"] as const;
/** The records, then the blob files of one shard after the other. */
const stepCount = 1 + blobShards.length;
/** Entries of the quarantine that one transaction writes. */
const batchMax = 500;
/** Damages of one step that are logged one by one. */
const loggedMax = 20;

/**
 * Checks everything that is stored, a round every interval: each record can be read, refers only to what exists and
 * counts its references right, and each blob file holds the bytes that were written. What is damaged is put on a list,
 * logged and counted, and never deleted, of each step 100,000 at most; what a later round finds whole or gone leaves
 * the list. A step that is done is not repeated after a restart. The first round begins one interval after the first
 * start.
 */
export const openScrub = async (options: ScrubOptions): Promise<Scrub> => {
  const { store, clock, log } = options;
  let quarantined = 0;
  const firstSubjects: string[] = [];
  await store.read(async (reader) => {
    for await (const { key } of walkTable(reader, quarantine)) {
      quarantined += 1;
      if (firstSubjects.length < loggedMax) firstSubjects.push(key[0]);
    }
  });
  if (quarantined > 0) log.error({ count: quarantined, first: firstSubjects }, "stored data is damaged");
  let [records, blobs, bytes] = [0, 0, 0];

  const check = async (step: number, signal: AbortSignal): Promise<StepReport> => {
    const pace = scrubPace(clock, options.bytesPerSecond, signal);
    if (step === 0) {
      const report = await scrubRecords(store, pace, signal);
      records += report.records;
      return report;
    }
    const report = await scrubBlobs(options, blobShards[step - 1] as string, pace, signal);
    blobs += report.blobs;
    bytes += report.bytes;
    return report;
  };

  const noteDamages = async ({ damages, unlistedCount }: StepReport, roundBeganMs: bigint): Promise<void> => {
    for (const { subject, reason } of damages.slice(0, loggedMax))
      log.error({ subject, reason }, "stored data is damaged");
    const count = damages.length + unlistedCount;
    if (count > loggedMax) log.error({ count, unlistedCount }, "more stored data is damaged");
    for (let first = 0; first < damages.length; first += batchMax)
      quarantined += await store.transact(async (transaction) => {
        let added = 0;
        for (const { subject, reason } of damages.slice(first, first + batchMax)) {
          // An entry that is damaged itself is written again.
          const known = await transaction.get(quarantine, [subject]).catch(damagedEntry);
          if (known === undefined) added += 1;
          const foundMs = known?.foundMs ?? BigInt(clock.now());
          transaction.put(quarantine, [subject], { reason, foundMs, seenMs: roundBeganMs });
        }
        return added;
      });
  };

  /** Removes from the list what this round has found whole, or not at all. */
  const release = async (roundBeganMs: bigint): Promise<void> => {
    let released: string[] = [];
    do {
      const after = released.at(-1);
      released = await store.read((reader) => listUnseen(reader, roundBeganMs, after));
      await store.transact((transaction) => {
        for (const subject of released) transaction.delete(quarantine, [subject]);
      });
      quarantined -= released.length;
      for (const subject of released) log.info({ subject }, "no longer damaged, or deleted");
    } while (released.length === batchMax);
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    const nowMs = clock.now();
    // Where it is damaged, a round begins an interval from now, as after the first start.
    const stored = await store.read((reader) => reader.get(scrubProgress, progressKey)).catch(undefinedIfDamaged);
    let roundBeganMs = stored?.roundBeganMs ?? BigInt(nowMs);
    let step = stored?.nextStep ?? stepCount;
    const save = () =>
      store.transact((transaction) => transaction.put(scrubProgress, progressKey, { roundBeganMs, nextStep: step }));
    if (stored === undefined) await save();
    if (step >= stepCount) {
      if (isStillAhead(Number(roundBeganMs) + options.intervalMs, options.intervalMs, nowMs)) return;
      [roundBeganMs, step] = [BigInt(nowMs), 0];
    }
    while (step < stepCount) {
      const report = await check(step, signal);
      if (signal.aborted) return;
      await noteDamages(report, roundBeganMs);
      step += 1;
      if (step === stepCount) await release(roundBeganMs);
      await save();
    }
    log.info({ records, blobs, bytes, quarantined }, "all stored data was checked");
  };
  return { run, stats: () => ({ records, blobs, bytes, quarantined }) };
};

/** Adds the metrics of the check. */
export const scrubMetrics = (metrics: Metrics, scrub: Pick<Scrub, "stats">): void => {
  for (const [name, type, help, member] of rows)
    metrics.add({ name: `scrub_${name}`, type, help, read: () => [{ labels: {}, value: scrub.stats()[member] }] });
};

const rows: readonly (readonly [string, "counter" | "gauge", string, keyof ScrubStats])[] = [
  ["records_total", "counter", "Records that the check of stored data has read.", "records"],
  ["blobs_total", "counter", "Blob files that it has found whole.", "blobs"],
  ["bytes_total", "counter", "Bytes of blob files that it has read.", "bytes"],
  ["quarantined", "gauge", "Records and blobs that are damaged or missing, by the latest check.", "quarantined"],
];
