import type { Message } from "@bufbuild/protobuf";

import type { ExtentRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Reader, Store } from "../../kit/store/store.ts";
import type { KeyTuple, Table } from "../../kit/store/table.ts";
import type { RangeOptions } from "../../kit/store/range.ts";
import { pretty } from "../../kit/store/table.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { isInDirectory } from "../store/directory.ts";
import { indexFromRecord } from "../store/bucket.ts";
import { blobs, buckets, currentVersions, layout, parts, versions } from "../store/layout.ts";
import { findCurrent } from "../store/object.ts";
import { searchEntries } from "../store/search-entries.ts";
import type { SearchIndex } from "../store/search-index.ts";
import { hasEntries, isEntryOf } from "../store/search-index.ts";
import { sharedBlobs } from "../store/shared-blobs.ts";
import type { ScrubPace } from "./scrub-pace.ts";

/** Something stored that is damaged or missing. */
export interface Damage {
  /** `blob/` and a blob's id, or a record's key as people write it. */
  readonly subject: string;
  readonly reason: string;
}

/** Damages of one step of a check that are listed; of more only the number is known. */
const listedMax = 100_000;

/** The damages that a step has found. */
export class FoundDamages {
  readonly listed: Damage[] = [];
  /** Those that are not listed, because they are too many. */
  unlistedCount = 0;

  add(subject: string, reason: string): void {
    if (this.listed.length < listedMax) this.listed.push({ subject, reason });
    else this.unlistedCount += 1;
  }
}

/** The subject of a damaged blob. */
export const blobSubject = (blobId: string): string => `blob/${blobId}`;

/** What reading one record costs besides its content, in bytes of the pace. */
const recordCostBytes = 1_024;
/** Blobs whose references are counted at the same time; more are counted in further passes. */
const countedBlobsMax = 200_000;

/** What a check of the records found and read. */
export interface RecordsReport {
  readonly damages: readonly Damage[];
  readonly unlistedCount: number;
  readonly records: number;
}

/**
 * Reads every record: it can be read, what it refers to exists, and each blob has as many references as its record
 * says. All is read as it was at one instant, so writes that go on meanwhile look like no damage.
 */
export const scrubRecords = (
  store: Store,
  pace: ScrubPace,
  signal: AbortSignal,
  countedMax = countedBlobsMax,
): Promise<RecordsReport> =>
  store.read(async (reader) => {
    const check = new RecordCheck(reader, pace, signal);
    for (const table of layout as readonly Table[]) await check.table(table);
    await check.currentVersions();
    await check.searchIndexes();
    await check.references(countedMax);
    const { listed, unlistedCount } = check.found;
    return { damages: listed, unlistedCount, records: check.records };
  });

class RecordCheck {
  readonly found = new FoundDamages();
  records = 0;
  readonly #reader: Reader;
  readonly #pace: ScrubPace;
  readonly #signal: AbortSignal;
  /** A damaged version or part hides references. */
  #hidesReferences = false;

  constructor(reader: Reader, pace: ScrubPace, signal: AbortSignal) {
    this.#reader = reader;
    this.#pace = pace;
    this.#signal = signal;
  }

  /** Reads every record of a table. */
  async table(table: Table): Promise<void> {
    const add = (subject: string, reason: string): void => {
      this.found.add(subject, reason);
      if (table.number === versions.number || table.number === parts.number) this.#hidesReferences = true;
    };
    const walked = this.#walk(table, {}, (key) => {
      this.records += 1;
      add(`${table.name}/0x${Buffer.from(key).toString("hex")}`, "the record's key is damaged");
    });
    for await (const { key, value } of walked) {
      this.records += 1;
      if (value === undefined) add(pretty(table, key), "the record is damaged");
    }
  }

  /** Every row of a listing has its version and its place in a directory. */
  async currentVersions(): Promise<void> {
    for await (const { key, value } of this.#walk(currentVersions)) {
      if (value === undefined) continue;
      const versionKey = [...key, Number(value.sequence)] as const;
      const version = await this.#reader.get(versions, versionKey).catch(() => "damaged" as const);
      if (version === undefined) this.found.add(pretty(currentVersions, key), "its version is missing");
      if (!(await isInDirectory(this.#reader, ...key)))
        this.found.add(pretty(currentVersions, key), "its directory has no entry for it");
    }
  }

  /** Every search index has the entries of its bucket's current versions, and no others. */
  async searchIndexes(): Promise<void> {
    for await (const { value } of this.#walk(buckets)) {
      const index = value && indexFromRecord(value.searchIndex);
      if (value === undefined || index === undefined) continue;
      await this.#searchIndex(value.bucketId, index);
    }
  }

  async #searchIndex(bucketId: string, index: SearchIndex): Promise<void> {
    const currentOf = (key: string) => findCurrent(this.#reader, bucketId, key).catch(() => "damaged" as const);
    for await (const { key } of this.#walk(searchEntries, { prefix: [index.indexId] })) {
      const current = await currentOf(key[3]);
      if (current === "damaged" || isEntryOf(index, key, current?.version)) continue;
      this.found.add(pretty(searchEntries, key), "no current version has this value");
    }
    if (!index.isActive) return;
    for await (const { key } of this.#walk(currentVersions, { prefix: [bucketId] })) {
      const current = await currentOf(key[1]);
      if (current === "damaged" || current === undefined) continue;
      if (!(await hasEntries(this.#reader, index, key[1], current.version)))
        this.found.add(pretty(currentVersions, key), "the search index lacks an entry of it");
    }
  }

  /** Every blob that is referred to exists, with the right number of references. */
  async references(countedMax: number): Promise<void> {
    let after: string | undefined;
    do after = await this.#countFrom(after, countedMax);
    while (after !== undefined && !this.#signal.aborted);
  }

  /** Counts the references of the blobs after an id; returns the last one if there may be more. */
  async #countFrom(after: string | undefined, countedMax: number): Promise<string | undefined> {
    // A damaged record is reported already; how many references it had is unknown.
    const stored = new Map<string, number | undefined>();
    let last: string | undefined;
    for await (const { key, value } of walkTable(this.#reader, blobs, after === undefined ? {} : { after: [after] })) {
      stored.set(key[0], value && Number(value.references));
      last = key[0];
      if (stored.size >= countedMax) break;
    }
    await this.#addShared(stored, after);
    const until = stored.size >= countedMax ? last : undefined;
    const isCounted = (blobId: string): boolean =>
      (after === undefined || blobId > after) && (until === undefined || blobId <= until);
    const counted = new Map<string, number>();
    for (const table of [versions, parts] as readonly Table<KeyTuple, Message & { extents: ExtentRecord[] }>[])
      for await (const { key, value } of this.#walk(table))
        for (const { blobId } of value?.extents ?? []) {
          if (!isCounted(blobId)) continue;
          if (!stored.has(blobId)) this.found.add(pretty(table, key), `blob ${blobId} has no record`);
          counted.set(blobId, (counted.get(blobId) ?? 0) + 1);
        }
    for (const [blobId, references] of stored) {
      const found = counted.get(blobId) ?? 0;
      if (references === undefined || found === references || (this.#hidesReferences && found < references)) continue;
      const reason = `its record says ${references} references, and there are ${found}`;
      this.found.add(blobSubject(blobId), reason);
    }
    return until;
  }

  /** Adds the references to blobs after an id besides those that their records count. */
  async #addShared(stored: Map<string, number | undefined>, after: string | undefined): Promise<void> {
    const last = [...stored.keys()].at(-1) ?? "";
    const range = after === undefined ? {} : { after: [after] as const };
    for await (const { key, value } of walkTable(this.#reader, sharedBlobs, range)) {
      const [blobId] = key;
      if (blobId > last) return;
      const counted = stored.get(blobId);
      if (!stored.has(blobId)) this.found.add(pretty(sharedBlobs, key), "its blob has no record");
      else stored.set(blobId, value && counted !== undefined ? counted + Number(value.references) : undefined);
    }
  }

  async *#walk<K extends KeyTuple, V extends Message>(
    table: Table<K, V>,
    range: RangeOptions<NoInfer<K>> = {},
    passed?: (key: Uint8Array) => void,
  ) {
    let read = 0;
    for await (const walked of walkTable(this.#reader, table, range, passed)) {
      yield walked;
      read += 1;
      if (read % 64 === 0) await this.#pace.spend(64 * recordCostBytes);
      if (this.#signal.aborted) return;
    }
  }
}
