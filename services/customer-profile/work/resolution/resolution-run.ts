/**
 * Carries out the weekly jobs of identity resolution, a slice of a few seconds by each run of a queued job, so that
 * accounts take turns and a stop waits for no more than a slice. What was done is stored with how far the job is, so a
 * slice begins where the last one has ended, also after a crash. The first job of a domain notes all its profiles as
 * changed; each job compares those that are noted when it comes to them, once, and then merges if the domain has it so.
 */
import type { ResolutionJobRecord } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { JobHandler, JobOutcome, JobPolicy } from "../../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../../kit/jobs/jobs.ts";
import { NamedKeyError } from "../../../kit/keyring/key-names.ts";
import type { Logger } from "../../../kit/log/log.ts";
import type { Reader, Transaction } from "../../../kit/store/transaction.ts";
import type { Application } from "../../application.ts";
import { idBytes } from "../../domain/identifier.ts";
import { comparisonByWeights } from "../../domain/resolution/confidence.ts";
import { isJobExpired } from "../../domain/resolution/job-state.ts";
import { limits } from "../../limits.ts";
import type { OpenDomain } from "../../store/domain.ts";
import { findDomain, openDomain } from "../../store/domain.ts";
import { profiles } from "../../store/layout.ts";
import { changedProfiles } from "../../store/layout-resolution.ts";
import { countMatches, listMatches } from "../../store/match.ts";
import { findResolution } from "../../store/resolution.ts";
import {
  findResolutionJob,
  listResolutionJobs,
  putResolutionJob,
  removeResolutionJob,
} from "../../store/resolution-job.ts";
import { isDamage, unlessDamaged } from "../damage.ts";
import { MatchFinder } from "./find-matches.ts";
import { isTooLarge, MatchMerger } from "./merge-matches.ts";
import { endedJob, enqueueResolution, planJob, runOfJob } from "./resolution-job.ts";
import type { ResolutionCounters } from "./resolution-metrics.ts";

/** The dependencies of identity resolution. */
export interface ResolutionTools {
  readonly app: Application;
  readonly log: Logger;
  readonly counters: ResolutionCounters;
  /** Whether nothing that takes up room may be stored now. */
  readonly isDiskLow: () => boolean;
}

/** The job of a domain that is not over. */
interface LiveJob {
  readonly domainId: Uint8Array;
  readonly jobId: Uint8Array;
  readonly account: string;
  readonly domainName: string;
  readonly record: ResolutionJobRecord;
}

/** The resolution of a job has ended while it ran. */
class JobOver extends Error {}

/** How long a job is tried that cannot go on. What goes on is queued again with each slice. */
export const resolutionPolicy = (tools: () => ResolutionTools): JobPolicy => ({
  attemptsMax: Number.POSITIVE_INFINITY,
  ageMsMax: limits.resolutionStuckMsMax,
  backoff: exponentialBackoff({ firstMs: 1_000, maxMs: limits.resolutionPauseMsMax }),
  onExhausted: async (transaction, { payload }, reason) => {
    const live = await findLive(transaction, runOfJob(payload));
    if (live !== undefined) await endJob(tools(), transaction, live, "FAILED", reason, tools().app.ids.hex(32));
  },
});

/** Carries out a slice of a job. */
export const resolutionHandler =
  (tools: () => ResolutionTools): JobHandler =>
  async ({ payload }, { signal }) => {
    const { store, clock } = tools().app;
    const live = await store.read((reader) => findLive(reader, runOfJob(payload)));
    if (live === undefined) return { done: true };
    if (tools().isDiskLow()) return { retry: true, reason: "the disk is low" };
    try {
      return await new ResolutionSlice(tools(), live, clock.now(), signal).carryOut();
    } catch (error) {
      if (error instanceof JobOver) return { done: true };
      if (error instanceof NamedKeyError) return { retry: true, reason: error.message };
      if (signal.aborted) throw error;
      // The reason of the last attempt is the message of a job that fails, which its domain's users read.
      const { account, domainName: domain } = live;
      tools().log.error({ err: error, account, domain }, "identity resolution cannot go on now");
      return { retry: true, reason: "an internal error" };
    }
  };

const findLive = async (
  reader: Reader,
  { domainId, jobId }: { readonly domainId: Uint8Array; readonly jobId: Uint8Array },
): Promise<LiveJob | undefined> => {
  const resolution = await findResolution(reader, domainId);
  const record = resolution && (await findResolutionJob(reader, domainId, jobId));
  if (record === undefined || record.endMs !== 0n) return undefined;
  return { domainId, jobId, account: resolution!.account, domainName: resolution!.domainName, record };
};

/** Ends a job, plans the next one and removes those that have expired. */
const endJob = async (
  { app, log, counters }: ResolutionTools,
  transaction: Transaction,
  live: LiveJob,
  status: "COMPLETED" | "PARTIAL_SUCCESS" | "FAILED",
  message: string,
  newJobId: string,
): Promise<void> => {
  const { domainId, jobId, account, domainName, record } = live;
  const nowMs = app.clock.now();
  putResolutionJob(transaction, domainId, jobId, endedJob(record, status, message, nowMs));
  for (const each of await listResolutionJobs(transaction, domainId))
    if (isJobExpired(each.record, nowMs)) removeResolutionJob(transaction, domainId, each.jobId);
  const settings = await findDomain(transaction, account, domainName);
  await planJob(app.jobs, transaction, {
    domainId,
    resolution: { resolutionId: record.resolutionId, account },
    jobId: idBytes(newJobId),
    matching: settings?.matching,
    // One that has not noted all profiles leaves that to the next.
    isWhole: record.isWhole && (record.status === "PENDING" || record.status === "PREPROCESSING"),
    nowMs,
  });
  transaction.afterCommit(() => {
    counters.addJob(status === "FAILED" ? "failed" : "complete");
    const facts = { account, domain: domainName, profilesReviewed: Number(record.profilesReviewed) };
    if (status === "COMPLETED") log.info(facts, "identity resolution has compared what has changed");
    else log.warn({ ...facts, problem: message }, "identity resolution has not compared all that has changed");
  });
};

/** One slice of a job. */
class ResolutionSlice {
  readonly #tools: ResolutionTools;
  readonly #live: LiveJob;
  readonly #nowMs: number;
  readonly #signal: AbortSignal;
  readonly #endsMs = performance.now() + limits.resolutionSliceMs;
  #job: ResolutionJobRecord;

  constructor(tools: ResolutionTools, live: LiveJob, nowMs: number, signal: AbortSignal) {
    this.#tools = tools;
    this.#live = live;
    this.#nowMs = nowMs;
    this.#signal = signal;
    const { record } = live;
    const status = record.isWhole ? "PREPROCESSING" : "FIND_MATCHING";
    this.#job = record.status === "PENDING" ? { ...record, status, startMs: BigInt(nowMs) } : record;
  }

  async carryOut(): Promise<JobOutcome> {
    const isWhole = (await this.#noteAll()) && (await this.#findMatches()) && (await this.#mergeMatches());
    const newJobId = this.#tools.app.ids.hex(32);
    return { done: true, apply: (transaction) => this.#apply(transaction, isWhole, newJobId) };
  }

  /** Ends the job, or goes on with the next slice. */
  async #apply(transaction: Transaction, isWhole: boolean, newJobId: string): Promise<void> {
    const found = await findLive(transaction, this.#live);
    if (found === undefined) return;
    const { app } = this.#tools;
    const live = { ...found, record: this.#job };
    const message = leftOutOf(this.#job);
    const status = message === "" ? "COMPLETED" : "PARTIAL_SUCCESS";
    if (isWhole) return endJob(this.#tools, transaction, live, status, message, newJobId);
    putResolutionJob(transaction, live.domainId, live.jobId, live.record);
    return enqueueResolution(app.jobs, transaction, live.account, { ...live, dueMs: app.clock.now() });
  }

  /** Notes all profiles as changed, if the job compares all; false: the time is over before. */
  async #noteAll(): Promise<boolean> {
    while (this.#job.status === "PREPROCESSING") {
      if (this.#isOver) return false;
      await this.#step(async (transaction) => {
        const ids = await transaction.snapshot.listStored(
          profiles,
          { ...rangeAfter(this.#live.domainId, this.#job.afterId), limit: limits.resolutionNotedBatch },
          (key) => key[1],
        );
        for (const id of ids) transaction.put(changedProfiles, [this.#job.resolutionId, id], {});
        return ids.length < limits.resolutionNotedBatch
          ? { status: "FIND_MATCHING", afterId: new Uint8Array() }
          : { afterId: ids.at(-1)! };
      });
    }
    return true;
  }

  /** Compares the profiles that are noted as changed; false: the time is over before. */
  async #findMatches(): Promise<boolean> {
    while (this.#job.status === "FIND_MATCHING") {
      if (this.#isOver) return false;
      const range = rangeAfter(this.#job.resolutionId, this.#job.afterId);
      const found = await this.#tools.app.store.read((reader) =>
        reader.list(changedProfiles, { ...range, limit: limits.resolutionBatch }),
      );
      const ids = found.map(({ key }) => key[1]);
      await unlessDamaged(
        ids,
        (some) => this.#review(some),
        (error) => this.#leaveDamaged(error),
      );
      if (ids.length < limits.resolutionBatch) await this.#beginMerging();
      else this.#job = { ...this.#job, afterId: ids.at(-1)! };
    }
    return true;
  }

  async #beginMerging(): Promise<void> {
    const { account, domainName } = this.#live;
    const { settings, matchCount } = await this.#tools.app.store.read(async (reader) => ({
      settings: (await findDomain(reader, account, domainName))?.matching?.autoMerging,
      matchCount: await countMatches(reader, this.#job.resolutionId),
    }));
    const autoMerging = settings?.enabled === true ? settings : undefined;
    const matchesFound = BigInt(matchCount);
    this.#job = { ...this.#job, status: "MERGING", afterId: new Uint8Array(), autoMerging, matchesFound };
  }

  /** Merges what was found, if the domain has it so; false: the time is over before. */
  async #mergeMatches(): Promise<boolean> {
    const { autoMerging, resolutionId } = this.#job;
    if (autoMerging === undefined) return true;
    const merger = new MatchMerger(autoMerging, resolutionId, this.#nowMs);
    for (;;) {
      const after = this.#job.afterId.length === 0 ? undefined : this.#job.afterId;
      const found = await this.#tools.app.store.read((reader) =>
        listMatches(reader, resolutionId, after, limits.resolutionNotedBatch),
      );
      for (const { key, value } of found) {
        if (this.#isOver) return false;
        if (merger.isToBeTried(value)) await this.#mergeMatch(merger, key[1]);
        this.#job = { ...this.#job, afterId: key[1] };
      }
      if (found.length < limits.resolutionNotedBatch) return true;
    }
  }

  /** Merges profiles of a match, each merge in a transaction of its own, because they may have many objects. */
  async #mergeMatch(merger: MatchMerger, matchId: Uint8Array): Promise<void> {
    const { app, counters } = this.#tools;
    try {
      let merged = 0;
      do {
        await this.#step(async (transaction, domain) => {
          merged = await merger.mergeFirst(transaction, domain, matchId);
          if (merged > 0) transaction.afterCommit(() => app.compaction.request());
          return { mergesDone: this.#job.mergesDone + BigInt(merged) };
        });
        counters.addMerges(merged);
      } while (merged > 0);
    } catch (error) {
      if (isDamage(error)) return this.#leaveDamaged(error);
      if (!isTooLarge(error)) throw error;
      await this.#step(async (transaction) => {
        await merger.noteTried(transaction, matchId);
        return { matchesTooLarge: this.#job.matchesTooLarge + 1n };
      });
    }
  }

  #leaveDamaged(error: unknown): void {
    const { account, domainName } = this.#live;
    this.#tools.log.error(
      { err: error, account, domain: domainName },
      "a profile cannot be compared or merged: it is damaged",
    );
    this.#job = { ...this.#job, profilesDamaged: this.#job.profilesDamaged + 1n };
  }

  async #review(ids: readonly Uint8Array[]): Promise<void> {
    await this.#step(async (transaction, domain) => {
      const matching = { id: this.#job.resolutionId, changes: changedProfiles, comparison: comparisonByWeights };
      const finder = new MatchFinder(transaction, domain, matching, this.#nowMs);
      for (const id of ids) await finder.review(id);
      return {
        afterId: ids.at(-1)!,
        profilesReviewed: this.#job.profilesReviewed + BigInt(ids.length),
      };
    });
    this.#tools.counters.addProfiles(ids.length);
  }

  /** Does a part of the work and stores with it how far the job is. */
  async #step(
    work: (transaction: Transaction, domain: OpenDomain) => Promise<Partial<ResolutionJobRecord>>,
  ): Promise<void> {
    const { app } = this.#tools;
    const { domainId, jobId, account, domainName } = this.#live;
    this.#job = await app.store.transact(
      async (transaction) => {
        if ((await findLive(transaction, this.#live)) === undefined) throw new JobOver();
        const domain = await openDomain(transaction, app.keyring, account, domainName);
        const job = { ...this.#job, ...(await work(transaction, domain)), updatedMs: BigInt(app.clock.now()) };
        putResolutionJob(transaction, domainId, jobId, job);
        return job;
      },
      { signal: this.#signal },
    );
  }

  get #isOver(): boolean {
    return performance.now() > this.#endsMs;
  }
}

/** What a job has left out, in words. */
const leftOutOf = ({ profilesDamaged, matchesTooLarge }: ResolutionJobRecord): string =>
  [
    ...(profilesDamaged > 0n ? [`profiles that cannot be read: ${profilesDamaged}`] : []),
    ...(matchesTooLarge > 0n ? [`matches that are too large to be merged: ${matchesTooLarge}`] : []),
  ].join("; ");

const rangeAfter = (ownerId: Uint8Array, afterId: Uint8Array) => ({
  prefix: [ownerId] as [Uint8Array],
  after: afterId.length === 0 ? undefined : ([ownerId, afterId] as [Uint8Array, Uint8Array]),
});
