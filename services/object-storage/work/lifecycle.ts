import { isStillAhead } from "../../kit/clock/clock.ts";
import type { Metrics } from "../../kit/metrics/metrics.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { LifecycleRules } from "../domain/lifecycle-action.ts";
import { decideAction } from "../domain/lifecycle-action.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket, listBucketsAfter } from "../store/bucket.ts";
import type { BucketPosition, FoundVersion } from "../store/lifecycle.ts";
import {
  deleteLeft,
  findLifecycle,
  findSweep,
  isLeft,
  listLeft,
  putLeft,
  putSweep,
  walkVersions,
} from "../store/lifecycle.ts";
import { readUploadRows } from "../store/upload.ts";
import type { LifecycleParts, LifecycleStats } from "./lifecycle-changes.ts";
import { lifecycleChanges } from "./lifecycle-changes.ts";
import type { ScrubPace } from "./scrub-pace.ts";
import { scrubPace } from "./scrub-pace.ts";

/** What the lifecycle rules are applied with. */
export interface LifecycleOptions extends LifecycleParts {
  /** How many versions and uploads are looked at in a second. */
  readonly entriesPerSecond: number;
  /** After how long buckets that are done have a further round while others are not, in milliseconds. */
  readonly roundMs: number;
  /** What an account's buckets may cost before the others have their turn, in versions. Unset: 30,000. */
  readonly turnEntries?: number;
}

/** The work of the lifecycle rules. */
export interface Lifecycle {
  /** Applies the rules of all buckets, until nothing is left of any; resolves then or when aborted. */
  run(signal: AbortSignal): Promise<void>;
  stats(): LifecycleStats;
}

type Outcome = keyof LifecycleStats;

/** Versions that are in memory whole at a time: the manifest of one may have 10,000 parts. */
const pageVersions = 32;
const pageBuckets = 100;
/** What a bucket may cost at least in its turn, however many its account has. */
const bucketTurnMin = 256;
/** The part of its account's turn that a bucket has while it is not known how many more there are. */
const unknownBuckets = 4;
const pageUploads = 100;
/** After so many pages it is stored how far a bucket's round has come. */
const pagesPerSave = 32;

/** A walk over buckets in which each account has one turn. */
interface Pass {
  /** What the buckets of each account have cost. */
  readonly spent: Map<string, number>;
  /** How many buckets of each account are left by it. */
  readonly left: Map<string, number>;
  /** How many the pass before has left. Undefined: unknown. */
  readonly leftBefore: ReadonlyMap<string, number> | undefined;
}

/** The turn of a bucket. */
interface Turn {
  left: number;
  /** Something of its round is stored. */
  isStored: boolean;
  readonly pace: ScrubPace;
  readonly signal: AbortSignal;
}

/**
 * Applies the rules in rounds, key by key in each bucket. A page is read first and most of it needs nothing; what does
 * is [changed](lifecycle-changes.ts). Accounts take turns, and so do their buckets: of one that is not done in its turn
 * it is stored how far it has come, and it goes on when all others have had theirs. Meanwhile the others have their
 * further rounds, so that no bucket waits until a large one is done. A restart continues each round where it was. A
 * version that is locked stays; so does all of a bucket where deleting versions needs a second factor.
 */
export const createLifecycle = (options: LifecycleOptions): Lifecycle => {
  const { store, clock, log, dayMs, roundMs, turnEntries = limits.lifecycleTurnEntries } = options;
  const done: Record<Outcome, number> = { expired: 0, removed: 0, transitioned: 0, aborted: 0 };
  const changes = lifecycleChanges(options, done);

  const run = async (signal: AbortSignal): Promise<void> => {
    const pace = scrubPace(clock, options.entriesPerSecond, signal);
    let beganMs = clock.now();
    await walkAll(pace, signal);
    let pass: Pass | undefined;
    while (!signal.aborted) {
      pass = await continueLeft(pass?.left, pace, signal);
      if (pass.left.size === 0) return;
      if (isStillAhead(beganMs + roundMs, roundMs, clock.now())) continue;
      beganMs = clock.now();
      await walkAll(pace, signal);
    }
  };

  /** Begins the rounds of all buckets of which nothing is left. */
  const walkAll = async (pace: ScrubPace, signal: AbortSignal): Promise<void> => {
    const pass: Pass = { spent: new Map(), left: new Map(), leftBefore: undefined };
    let name = await store.read(findSweep);
    for (;;) {
      const after = name;
      const buckets = await store.read((reader) => listBucketsAfter(reader, after, pageBuckets));
      for (const { name: listed, bucket } of buckets) {
        if (signal.aborted) return;
        if (bucket?.hasLifecycle === true && !(await store.read((reader) => isLeft(reader, listed))))
          await haveTurn(bucket, undefined, pass, pace, signal);
        name = listed;
      }
      const isLast = buckets.length < pageBuckets;
      if (!signal.aborted) await store.transact((transaction) => putSweep(transaction, isLast ? "" : name));
      if (isLast) return;
    }
  };

  /** Gives a turn to each bucket of which something is left. */
  const continueLeft = async (leftBefore: Pass["leftBefore"], pace: ScrubPace, signal: AbortSignal): Promise<Pass> => {
    const pass: Pass = { spent: new Map(), left: new Map(), leftBefore };
    let name = "";
    for (;;) {
      const after = name;
      const page = await store.read(async (reader) =>
        Promise.all(
          (await listLeft(reader, after, pageBuckets)).map(async (left) => ({
            ...left,
            bucket: await findBucket(reader, left.name).catch(undefinedIfDamaged),
          })),
        ),
      );
      for (const { name: listed, position, bucket } of page) {
        if (signal.aborted) return pass;
        if (bucket === undefined) await store.transact((transaction) => deleteLeft(transaction, listed));
        else await haveTurn(bucket, position, pass, pace, signal);
        name = listed;
      }
      if (page.length < pageBuckets) return pass;
    }
  };

  /** Applies the rules of a bucket for a turn, from a position on. Undefined: its round begins. */
  const haveTurn = async (
    bucket: Bucket,
    position: BucketPosition | undefined,
    pass: Pass,
    pace: ScrubPace,
    signal: AbortSignal,
  ): Promise<void> => {
    const { name, accountId } = bucket;
    const spent = pass.spent.get(accountId) ?? 0;
    const others = pass.leftBefore === undefined ? unknownBuckets : (pass.leftBefore.get(accountId) ?? 1);
    const length = Math.max(bucketTurnMin, (turnEntries - spent) / others);
    const turn: Turn = { left: length, isStored: position !== undefined, pace, signal };
    const next = await applyToBucket(bucket, position ?? beginning, turn);
    pass.spent.set(accountId, spent + length - turn.left);
    if (next !== undefined) {
      pass.left.set(accountId, (pass.left.get(accountId) ?? 0) + 1);
      await store.transact((transaction) => putLeft(transaction, name, next));
    } else if (turn.isStored) await store.transact((transaction) => deleteLeft(transaction, name));
  };

  /** Returns what is left. What is damaged in one bucket does not hold up the others, and ends its round. */
  const applyToBucket = async (
    bucket: Bucket,
    position: BucketPosition,
    turn: Turn,
  ): Promise<BucketPosition | undefined> => {
    try {
      const rules = await store.read((reader) => findLifecycle(reader, bucket, dayMs));
      if (rules === undefined || rules.rules.length === 0) return undefined;
      const prefix = commonPrefix(rules);
      const left = position.uploads ?? (await applyToVersions(bucket, rules, prefix, position.versions, turn));
      if ("versions" in left) return left;
      return await abortUploads(bucket, rules, prefix, left, turn);
    } catch (error) {
      log.error({ err: error, bucket: bucket.name }, "the lifecycle rules were not applied to all of a bucket");
      return undefined;
    }
  };

  /** Returns the place of the first upload when all versions were looked at. */
  const applyToVersions = async (
    bucket: Bucket,
    rules: LifecycleRules,
    prefix: string,
    from: BucketPosition["versions"],
    turn: Turn,
  ): Promise<BucketPosition | UploadPlace> => {
    let position = from;
    for (let page = 1; ; page += 1) {
      const at = { versions: position, uploads: undefined };
      if (turn.signal.aborted || turn.left <= 0) return at;
      if (page % pagesPerSave === 0) await save(bucket, at, turn);
      const { found, next } = await store.read((reader) =>
        walkVersions(reader, bucket.bucketId, prefix, position, pageVersions),
      );
      const due = found.filter(({ facts }) => decideAction(rules, facts, clock.now()) !== undefined);
      if (due.length > 0) await changes.applyAll(bucket.name, due);
      await spend(costOf(rules, found, due.length), turn);
      if (next === undefined) return firstUpload;
      position = next;
    }
  };

  const abortUploads = async (
    bucket: Bucket,
    rules: LifecycleRules,
    prefix: string,
    from: UploadPlace,
    turn: Turn,
  ): Promise<BucketPosition | undefined> => {
    let after = from;
    for (;;) {
      if (turn.signal.aborted || turn.left <= 0) return { versions: undefined, uploads: after };
      const rows = await store.read((reader) =>
        readUploadRows(reader, bucket.bucketId, prefix, { after }, pageUploads),
      );
      await spend(rows.length, turn);
      for (const { position, row } of rows)
        if (changes.isAbortDue(rules, position.key, row.upload))
          await changes.abort(bucket.name, position.key, row.uploadId);
      const last = rows.at(-1);
      if (last === undefined || rows.length < pageUploads) return undefined;
      after = last.position;
    }
  };

  const save = async ({ name }: Bucket, position: BucketPosition, turn: Turn): Promise<void> => {
    await store.transact((transaction) => putLeft(transaction, name, position));
    turn.isStored = true;
  };

  return { run, stats: () => ({ ...done }) };
};

type UploadPlace = NonNullable<BucketPosition["uploads"]>;

const firstUpload: UploadPlace = { key: "", uploadId: undefined };
const beginning: BucketPosition = { versions: undefined, uploads: undefined };

/** Takes its time for what was looked at or changed. A page costs something in its turn, also if nothing is in it. */
const spend = async (entries: number, turn: Turn): Promise<void> => {
  turn.left -= entries + 1;
  await turn.pace.spend(entries);
};

/** What a page costs, in versions that are looked at: more where many rules are decided on, or much is changed. */
const costOf = (rules: LifecycleRules, found: readonly FoundVersion[], changes: number): number => {
  const decided = found.reduce((sum, { facts }) => sum + rules.rulesFor(facts).length, 0);
  return found.length + decided / limits.lifecycleRulesPerEntry + changes * limits.lifecycleEntriesPerChange;
};

/** What the keys of all rules begin with. */
const commonPrefix = ({ rules: [first, ...others] }: LifecycleRules): string => {
  let prefix = first?.conditions.prefix ?? "";
  for (const { conditions } of others)
    while (!conditions.prefix.startsWith(prefix)) prefix = Array.from(prefix).slice(0, -1).join("");
  return prefix;
};

/** Adds the metrics of the rules. */
export const lifecycleMetrics = (metrics: Metrics, lifecycle: Pick<Lifecycle, "stats">): void => {
  for (const [outcome, help] of rows)
    metrics.add({
      name: `lifecycle_${outcome}_total`,
      type: "counter",
      help,
      read: () => [{ labels: {}, value: lifecycle.stats()[outcome] }],
    });
};

const rows: readonly (readonly [Outcome, string])[] = [
  ["expired", "Objects that lifecycle rules have deleted."],
  ["removed", "Versions and delete markers that lifecycle rules have removed."],
  ["transitioned", "Versions that lifecycle rules have moved to another storage class."],
  ["aborted", "Uploads that lifecycle rules have aborted."],
];
