import type { CurrentVersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { BucketContext, Operation } from "../application.ts";
import { describeListed } from "../domain/listed-object.ts";
import { encodeListed } from "../domain/listing.ts";
import type { PlannedSearch } from "../domain/search.ts";
import { actionsFor, checkIndexed, meets, planSearch } from "../domain/search.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { findCurrentRow } from "../store/object.ts";
import { versions } from "../store/layout.ts";
import type { FoundKey, SearchIndex } from "../store/search-index.ts";
import { readFoundKeys } from "../store/search-index.ts";

/** Entries that one read returns. */
const entriesPerRead = 256;

/**
 * Lists the objects of a bucket that meet all conditions. Entries of the leading condition are read, and each object is
 * looked at further; a call looks at a bounded number, so an answer may be truncated with few objects or none. An
 * object is left out if the caller may not read its tags, where a condition is on a tag, or the object itself, where
 * one is on metadata or the content type. Checks, in order:
 *  1. the conditions are valid, see `planSearch`;
 *  2. the token is one of this search (INVALID_PAGE_TOKEN);
 *  3. the bucket has an index (NO_SUCH_SEARCH_INDEX) of all attributes, see `checkIndexed`;
 *  4. all objects are indexed (SEARCH_INDEX_BUILDING).
 */
export const searchObjects: Operation<"searchObjects"> = async (request, context) => {
  const { app, access } = context;
  const search = planSearch(request);
  const { prefix = "" } = request;
  const page = app.pages.open(context, request, filtersOf(request));
  const maxKeys = Math.min(request.maxKeys ?? limits.entriesPerPageMax, limits.entriesPerPageMax);
  const after = page.after === undefined ? undefined : decodePosition(page.after);
  const { found, next } = await app.store.read(async (reader) => {
    const { bucketId, searchIndex } = await access.bucket.in(reader);
    if (searchIndex === undefined) throw fault(ErrorReason.NO_SUCH_SEARCH_INDEX);
    checkIndexed(search, searchIndex.attributes);
    if (!searchIndex.isActive) throw fault(ErrorReason.SEARCH_INDEX_BUILDING);
    const run = new SearchRun(reader, context, bucketId, searchIndex, search);
    return run.readPage(prefix, after, maxKeys);
  });

  const listed = encodeListed(request.encodingType);
  return {
    contents: found.map(({ key, row }) => describeListed(listed(key), row)),
    isTruncated: next !== undefined,
    keyCount: found.length,
    nextContinuationToken: next && page.tokenOf(encodePosition(next)),
    encodingType: request.encodingType,
  };
};

interface FoundObject {
  readonly key: string;
  readonly row: CurrentVersionRecord;
}

/** One search in one read. */
class SearchRun {
  readonly #reader: Reader;
  readonly #context: BucketContext;
  readonly #bucketId: string;
  readonly #index: SearchIndex;
  readonly #search: PlannedSearch;
  readonly #actions: ReadonlySet<string>;

  constructor(reader: Reader, context: BucketContext, bucketId: string, index: SearchIndex, search: PlannedSearch) {
    this.#reader = reader;
    this.#context = context;
    this.#bucketId = bucketId;
    this.#index = index;
    this.#search = search;
    this.#actions = actionsFor(search);
  }

  /** The objects after an entry, and the last entry that was looked at; undefined: there are no more. */
  async readPage(
    prefix: string,
    after: FoundKey | undefined,
    objectsMax: number,
  ): Promise<{ readonly found: FoundObject[]; readonly next: FoundKey | undefined }> {
    const found: FoundObject[] = [];
    if (objectsMax === 0) return { found, next: undefined };
    let last = after;
    for (let looked = 0; looked < limits.searchedEntriesMax;) {
      const entries = await readFoundKeys(
        this.#reader,
        this.#index,
        this.#search.leading,
        prefix,
        last,
        entriesPerRead,
      );
      for (const entry of entries) {
        const row = entry.key.startsWith(prefix) ? await this.#findObject(entry.key) : undefined;
        if (row !== undefined && found.length === objectsMax) return { found, next: last };
        if (row !== undefined) found.push({ key: entry.key, row });
        last = entry;
      }
      if (entries.length < entriesPerRead) return { found, next: undefined };
      looked += entries.length;
    }
    return { found, next: last };
  }

  /** The listing entry of a key that is found; undefined: it is not. */
  async #findObject(key: string): Promise<CurrentVersionRecord | undefined> {
    const { others, isInRange } = this.#search;
    const row = await findCurrentRow(this.#reader, this.#bucketId, key);
    if (row === undefined) throw new Error("an entry of a search index has no current version");
    if (!isInRange(row)) return undefined;
    if (others.length > 0) {
      const version = await this.#reader.get(versions, [this.#bucketId, key, Number(row.sequence)]);
      if (version === undefined || !others.every((condition) => meets(condition, version))) return undefined;
    }
    for (const action of this.#actions)
      if (!(await this.#context.access.bucket.may(this.#reader, action, key))) return undefined;
    return row;
  }
}

/** All that decides which objects are found, and in which order. */
const filtersOf = (
  request: Parameters<typeof planSearch>[0] & { readonly bucket: string; readonly prefix?: string },
) => {
  const { bucket, prefix, conditions, sizeAtLeast, sizeAtMost, modifiedSince, modifiedBefore } = request;
  const times = [modifiedSince, modifiedBefore].map((time) => time && `${time.seconds}.${time.nanos}`);
  const texts = conditions.flatMap(({ attribute, equals, beginsWith }) => [
    attribute?.source,
    attribute?.name,
    equals === undefined ? "begins with" : "equals",
    equals ?? beginsWith,
  ]);
  return [bucket, prefix, sizeAtLeast?.toString(), sizeAtMost?.toString(), ...times, ...texts];
};

/** The position of an entry as a text, and back. */
const encodePosition = ({ value, key }: FoundKey): string => `${value.length}:${value}${key}`;

const decodePosition = (position: string): FoundKey => {
  const colon = position.indexOf(":");
  const end = colon + 1 + Number(position.slice(0, colon));
  return { value: position.slice(colon + 1, end), key: position.slice(end) };
};
