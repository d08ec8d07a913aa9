/**
 * Carries out flows, a slice of a few seconds by each run of a job, so that accounts take turns and a stop waits for no
 * more than a slice. What was read is stored with what came of it, so a slice begins where the last one has ended, also
 * after a crash. A bucket that cannot be read is tried again, with growing pauses, for a day.
 */
import { create } from "@bufbuild/protobuf";

import type { FlowRecord, FlowRun } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { FlowOutcomeSchema } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { FlowDefinition } from "../../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import { arn } from "../../../kit/arn/arn.ts";
import { Turn } from "../../../kit/clock/turn.ts";
import type { JobHandler, JobOutcome, JobPolicy } from "../../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../../kit/jobs/jobs.ts";
import { NamedKeyError } from "../../../kit/keyring/key-names.ts";
import type { Transaction } from "../../../kit/store/transaction.ts";
import { ObjectUnreadable } from "../../domain/flow/records/source-record.ts";
import type { FlowTasks } from "../../domain/flow/tasks.ts";
import { compileTasks } from "../../domain/flow/tasks.ts";
import { failed } from "../../domain/flow/working-record.ts";
import { limits } from "../../limits.ts";
import type { ListedObject, ReadBucket } from "../../sources/bucket-source.ts";
import { listedKeysMax, SourceError } from "../../sources/bucket-source.ts";
import { openObject } from "../../sources/object-records.ts";
import { putFlow } from "../../store/flow.ts";
import type { ReadRecord } from "./flow-commit.ts";
import { commitRecords, FlowOver, getLiveFlow } from "./flow-commit.ts";
import { enqueueFlow, firstReadMs, isCarriedOut, isIncremental, nextDueMs, placeOfJob } from "./flow-job.ts";
import { choose, newCompleteRun, newRun, rememberedWith, shortened, shownCounts, withRead } from "./flow-progress.ts";
import { readBucketOf } from "./flow-reader.ts";
import type { FlowPlace, FlowTools } from "./flow-tools.ts";

/** A task has ended the run. */
class RunEnded extends Error {}

/** How long a run is tried that cannot go on. What goes on has a new job with each slice. */
export const flowPolicy = (tools: () => FlowTools): JobPolicy => ({
  attemptsMax: Number.POSITIVE_INFINITY,
  ageMsMax: limits.flowStuckMsMax,
  backoff: exponentialBackoff({ firstMs: 1_000, maxMs: limits.flowPauseMsMax }),
  onExhausted: async (transaction, job, reason) =>
    unlessOver(async () => {
      const place = placeOfJob(job.payload);
      const { flow } = await getLiveFlow(transaction, place);
      const nowMs = tools().app.clock.now();
      await endRun(tools(), transaction, place, flow.run ?? newCompleteRun(nowMs), flow.problem || reason);
    }),
});

/** Carries out a slice of a flow. */
export const flowHandler =
  (tools: () => FlowTools): JobHandler =>
  async ({ payload }, { signal }) => {
    const place = placeOfJob(payload);
    const found = await tools()
      .app.store.read((reader) => getLiveFlow(reader, place))
      .catch(undefinedIfOver);
    if (found === undefined || !isCarriedOut(found.integration.flowDefinition)) return { done: true };
    const { flow, integration } = found;
    const slice = new FlowSlice(
      tools(),
      place,
      flow,
      integration.flowDefinition as FlowDefinition,
      integration.roleArn,
      signal,
    );
    return slice.carryOut();
  };

const undefinedIfOver = (error: unknown): undefined => {
  if (!(error instanceof FlowOver)) throw error;
};

const unlessOver = async (run: () => Promise<void>): Promise<void> => {
  await run().catch(undefinedIfOver);
};

/** Ends a run in the transaction of its job's end, and enqueues the next one. An early end has a problem. */
const endRun = async (
  { app, log, counters }: FlowTools,
  transaction: Transaction,
  place: FlowPlace,
  run: FlowRun,
  problem: string,
): Promise<void> => {
  const { flow, integration } = await getLiveFlow(transaction, place);
  const { flowDefinition } = integration;
  if (!isCarriedOut(flowDefinition)) return;
  const nowMs = app.clock.now();
  const tookMs = Math.max(0, nowMs - Number(run.startedMs));
  const dueMs = nextDueMs(flowDefinition, flow, { nowMs, tookMs, pollMs: limits.flowPollMs });
  putFlow(transaction, place.domainId, place.uri, {
    ...flow,
    run: undefined,
    problem: "",
    nextMs: BigInt(dueMs ?? 0),
    ...(problem === "" && { readUntilMs: run.startedMs, recentObjects: run.recentObjects }),
    last: create(FlowOutcomeSchema, {
      startedMs: run.startedMs,
      endedMs: BigInt(nowMs),
      counts: run.counts,
      problem: shortened(problem),
    }),
  });
  if (dueMs !== undefined) await enqueueFlow(app.jobs, transaction, place, flow.account, dueMs);
  transaction.afterCommit(() => {
    counters.addRun(problem === "" ? "complete" : "failed");
    const facts = {
      integration: arnOf(app.region, flow, place),
      ...shownCounts(run.counts),
      ...(problem !== "" && { problem }),
    };
    if (problem === "") log.info(facts, "a flow has read all");
    else log.warn(facts, "a run of a flow ended early");
  });
};

const arnOf = (region: string, { account, domainName }: FlowRecord, { uri }: FlowPlace): string =>
  arn({ partition: "aws", service: "profile", region, account, resource: `domains/${domainName}/integrations/${uri}` });

/** Records that are put together. Those that tasks have left out cost little, so more of them are. */
class RecordBatch {
  readonly records: ReadRecord[] = [];
  #kept = 0;
  #characters = 0;

  add(record: ReadRecord): void {
    this.records.push(record);
    if (record.outcome.kind !== "left-out") this.#kept += 1;
    this.#characters += record.text.length;
  }

  get isFull(): boolean {
    const { flowBatchRecords, flowBatchCharacters, flowBatchLeftOut } = limits;
    if (this.#kept >= flowBatchRecords || this.#characters >= flowBatchCharacters) return true;
    return this.records.length >= flowBatchLeftOut;
  }

  clear(): void {
    this.records.length = 0;
    [this.#kept, this.#characters] = [0, 0];
  }
}

/** One slice of a run. */
class FlowSlice {
  readonly #tools: FlowTools;
  readonly #place: FlowPlace;
  readonly #flow: FlowRecord;
  readonly #definition: FlowDefinition;
  readonly #roleArn: string;
  readonly #signal: AbortSignal;
  readonly #endsMs = performance.now() + limits.flowSliceMs;
  readonly #tasks: FlowTasks;
  #run: FlowRun;
  #changes = 0;

  constructor(
    tools: FlowTools,
    place: FlowPlace,
    flow: FlowRecord,
    definition: FlowDefinition,
    roleArn: string,
    signal: AbortSignal,
  ) {
    this.#tools = tools;
    this.#place = place;
    this.#flow = flow;
    this.#definition = definition;
    this.#roleArn = roleArn;
    this.#signal = signal;
    this.#tasks = compileTasks(definition.tasks);
    const nowMs = tools.app.clock.now();
    this.#run =
      flow.run ??
      (isIncremental(definition)
        ? newRun(flow, firstReadMs(definition, Number(flow.putMs)), nowMs)
        : newCompleteRun(nowMs));
  }

  async carryOut(): Promise<JobOutcome> {
    try {
      const { account } = this.#flow;
      const bucket = readBucketOf(this.#tools, { account, roleArn: this.#roleArn, flow: this.#definition });
      const isWhole = await this.#readBucket(bucket);
      return { done: true, apply: (transaction) => unlessOver(() => this.#apply(transaction, isWhole, "")) };
    } catch (error) {
      if (error instanceof FlowOver) return { done: true };
      if (error instanceof RunEnded)
        return { done: true, apply: (transaction) => unlessOver(() => this.#apply(transaction, true, error.message)) };
      if (!(error instanceof SourceError || error instanceof NamedKeyError)) throw error;
      return await this.#putOff(error.message);
    }
  }

  /** Ends the run, or goes on with the next slice. */
  async #apply(transaction: Transaction, isWhole: boolean, problem: string): Promise<void> {
    const { app } = this.#tools;
    if (isWhole) return endRun(this.#tools, transaction, this.#place, this.#run, problem);
    const { flow } = await getLiveFlow(transaction, this.#place);
    putFlow(transaction, this.#place.domainId, this.#place.uri, { ...flow, run: this.#run, problem: "" });
    return enqueueFlow(app.jobs, transaction, this.#place, flow.account, app.clock.now());
  }

  async #putOff(reason: string): Promise<JobOutcome> {
    const problem = shortened(reason);
    const { app, log } = this.#tools;
    if (this.#flow.problem !== problem && !this.#tools.isDiskLow()) {
      log.warn({ integration: arnOf(app.region, this.#flow, this.#place), problem }, "a flow cannot go on now");
      await app.store
        .transact(async (transaction) => {
          const { flow } = await getLiveFlow(transaction, this.#place);
          putFlow(transaction, this.#place.domainId, this.#place.uri, { ...flow, run: this.#run, problem });
        })
        .catch(undefinedIfOver);
    }
    return { retry: true, reason: problem };
  }

  /** Reads the objects that follow; false: the time of the slice is over before all are read. */
  async #readBucket(bucket: ReadBucket): Promise<boolean> {
    for (;;) {
      const page = await this.#tools.source.list(bucket, this.#run.afterKey, this.#signal);
      if ((await this.#readPage(bucket, page)) && page.length < listedKeysMax) return true;
      if (this.#isOver) return false;
    }
  }

  /** False: the page was not read to its end, because the time is over or an object has changed since it was listed. */
  async #readPage(bucket: ReadBucket, page: readonly ListedObject[]): Promise<boolean> {
    for (const object of page) {
      const choice = choose(this.#run, this.#flow.recentObjects, object);
      if (choice === "read" && !(await this.#readListed(bucket, object))) return false;
      const recentObjects = choice === "skip" ? this.#run.recentObjects : rememberedWith(this.#run, object);
      this.#run = withRead(this.#run, { afterKey: object.key, position: undefined, recentObjects }, {});
      if (choice === "read" && this.#isOver) return false;
    }
    return true;
  }

  /** Reads an object; false: not to its end. What cannot be read is counted and left. */
  async #readListed(bucket: ReadBucket, object: ListedObject): Promise<boolean> {
    try {
      if (!(await this.#readObject(bucket, object))) return false;
      this.#run = withRead(this.#run, {}, { objects: 1 });
      return true;
    } catch (error) {
      if (error instanceof SourceError && error.kind === "changed" && ++this.#changes < limits.flowChangesMax)
        return false;
      const isUnreadable =
        error instanceof ObjectUnreadable || (error instanceof SourceError && error.kind === "unreadable");
      if (!isUnreadable) throw error;
      const { app, log } = this.#tools;
      const problem = `${object.key}: ${error.message}`;
      this.#run = withRead(this.#run, {}, { failedObjects: 1, problem });
      log.warn({ integration: arnOf(app.region, this.#flow, this.#place), problem }, "a flow cannot read an object");
      return true;
    }
  }

  async #readObject(bucket: ReadBucket, object: ListedObject): Promise<boolean> {
    const { position } = this.#run;
    const isBegun = position?.key === object.key && position.eTag === object.eTag;
    const afterBytes = isBegun ? Number(position.offsetBytes) : 0;
    const beginMs = performance.now();
    let endsMs: number | undefined;
    const records = await openObject(this.#tools.source, bucket, object, afterBytes, this.#signal);
    const batch = new RecordBatch();
    const turn = new Turn();
    const commit = async (): Promise<void> => {
      if (batch.records.length === 0) return;
      if (this.#tools.isDiskLow()) throw new SourceError("away", "the disk is low");
      this.#signal.throwIfAborted();
      this.#run = await commitRecords(this.#tools, this.#place, this.#run, object, batch.records);
      batch.clear();
    };
    try {
      for await (const { record, problem, text, endBytes } of records) {
        endsMs ??= this.#endOf(performance.now() - beginMs);
        if (turn.isOver) await turn.next();
        const outcome = record === undefined ? failed(problem) : this.#tasks(record, text.length);
        if (outcome.kind === "ended") {
          await commit();
          throw new RunEnded(`${object.key}: ${outcome.reason}`);
        }
        batch.add({ outcome, text: outcome.kind === "left-out" ? "" : text, endBytes });
        if (!batch.isFull) continue;
        await commit();
        if (performance.now() > endsMs) return false;
      }
    } catch (error) {
      // What comes before the place that cannot be read is as good as the rest.
      if (error instanceof ObjectUnreadable) await commit();
      throw error;
    }
    await commit();
    return true;
  }

  /** When a slice ends that has found its place in an object in so many milliseconds. */
  #endOf(foundMs: number): number {
    return Math.max(this.#endsMs, performance.now() + limits.flowReadingFactor * foundMs);
  }

  get #isOver(): boolean {
    return performance.now() > this.#endsMs;
  }
}
