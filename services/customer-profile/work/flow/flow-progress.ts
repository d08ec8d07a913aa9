import { createHash } from "node:crypto";

import { create } from "@bufbuild/protobuf";

import type { FlowCounts, FlowRecord, FlowRun } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { FlowCountsSchema, FlowRunSchema } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { limits } from "../../limits.ts";
import type { ListedObject } from "../../sources/bucket-source.ts";

const digestBytes = 8;

/** What a batch of records, or the end of an object, adds to the counts of a run. */
export interface Read {
  readonly objects?: number;
  readonly failedObjects?: number;
  readonly ingested?: number;
  readonly leftOut?: number;
  readonly failed?: number;
  /** Why one of them failed. Empty: none did. */
  readonly problem?: string;
}

/** A run that begins. `firstMs` is from when the first run of the flow reads what has changed. */
export const newRun = ({ readUntilMs, last }: FlowRecord, firstMs: number, nowMs: number): FlowRun => {
  const untilMs = Number(readUntilMs);
  // Clocks of two machines differ, and an object appears in listings after the instant that it shows.
  const overlappingMs = last === undefined ? untilMs : Math.max(0, untilMs - limits.flowOverlapMs);
  return create(FlowRunSchema, {
    startedMs: BigInt(nowMs),
    sinceMs: BigInt(Math.max(Math.min(untilMs, firstMs), overlappingMs)),
    counts: create(FlowCountsSchema),
  });
};

/** A run that begins and reads everything. */
export const newCompleteRun = (nowMs: number): FlowRun =>
  create(FlowRunSchema, { startedMs: BigInt(nowMs), counts: create(FlowCountsSchema) });

/** A run with what was read since. */
export const withRead = (
  run: FlowRun,
  change: Partial<Pick<FlowRun, "afterKey" | "position" | "recentObjects">>,
  read: Read,
) => {
  const {
    objects = 0n,
    failedObjects = 0n,
    ingestedRecords = 0n,
    leftOutRecords = 0n,
    failedRecords = 0n,
  } = run.counts ?? {};
  return create(FlowRunSchema, {
    ...run,
    ...change,
    counts: create(FlowCountsSchema, {
      objects: objects + BigInt(read.objects ?? 0),
      failedObjects: failedObjects + BigInt(read.failedObjects ?? 0),
      ingestedRecords: ingestedRecords + BigInt(read.ingested ?? 0),
      leftOutRecords: leftOutRecords + BigInt(read.leftOut ?? 0),
      failedRecords: failedRecords + BigInt(read.failed ?? 0),
      firstProblem: run.counts?.firstProblem || (read.problem ?? "").slice(0, problemCharactersMax),
    }),
  });
};

const problemCharactersMax = 500;

/** A problem as it is stored. */
export const shortened = (problem: string): string => problem.slice(0, problemCharactersMax);

/** Whether a run reads an object, or has nothing to do with it; `known`: it was read before. */
export const choose = (run: FlowRun, known: Uint8Array, object: ListedObject): "read" | "known" | "skip" => {
  const isFolder = object.sizeBytes === 0 || object.key.endsWith("/");
  if (isFolder || object.modifiedMs < Number(run.sinceMs)) return "skip";
  return run.sinceMs > 0n && hasObject(known, object) ? "known" : "read";
};

/**
 * The objects that were read, with one more if the next run may find it again. Of more than a bounded number, some are
 * read again, which changes nothing.
 */
export const rememberedWith = (run: FlowRun, object: ListedObject): Uint8Array => {
  const { recentObjects, startedMs } = run;
  if (object.modifiedMs < Number(startedMs) - limits.flowOverlapMs) return recentObjects;
  const kept = recentObjects.subarray(
    Math.max(0, recentObjects.length - (limits.flowRecentObjectsMax - 1) * digestBytes),
  );
  return Buffer.concat([kept, digestOf(object)]);
};

const hasObject = (known: Uint8Array, object: ListedObject): boolean => {
  const digest = digestOf(object);
  for (let at = 0; at < known.length; at += digestBytes)
    if (digest.equals(known.subarray(at, at + digestBytes))) return true;
  return false;
};

const digestOf = ({ key, eTag, modifiedMs }: ListedObject): Buffer =>
  createHash("sha256")
    .update(JSON.stringify([key, eTag, modifiedMs]))
    .digest()
    .subarray(0, digestBytes);

/** The counts of a run as the log and the page of flows show them. */
export const shownCounts = (counts: FlowCounts | undefined) => ({
  objects: Number(counts?.objects ?? 0n),
  failedObjects: Number(counts?.failedObjects ?? 0n),
  ingestedRecords: Number(counts?.ingestedRecords ?? 0n),
  leftOutRecords: Number(counts?.leftOutRecords ?? 0n),
  failedRecords: Number(counts?.failedRecords ?? 0n),
  ...(counts !== undefined && counts.firstProblem !== "" && { firstProblem: counts.firstProblem }),
});
