import type { DescField } from "@bufbuild/protobuf";

import type { CurrentVersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import {
  ListObjectVersionsResponseSchema,
  ListObjectsResponseSchema,
  ListObjectsV2ResponseSchema,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Reader, StoredRecord } from "../../kit/store/store.ts";
import { withEncodedLists } from "../../kit/wire/message-bytes.ts";
import type { Application, BucketContext, Operation } from "../application.ts";
import type { Glob } from "../domain/glob.ts";
import { GlobError, parseGlob } from "../domain/glob.ts";
import { decodeSeek, encodeSeek, listMatching, scannedPrefix } from "../domain/glob-listing.ts";
import type { ListingPage } from "../domain/listing.ts";
import { encodeListed, firstSeek, listPage } from "../domain/listing.ts";
import { describeListed } from "../domain/listed-object.ts";
import { ownerOf } from "../domain/owner.ts";
import { ownerNow } from "../domain/ownership.ts";
import { describeRestoreStatus } from "../domain/restore.ts";
import { checkVersionId, findSequence, nullVersionId } from "../domain/versioning.ts";
import { invalidArgument } from "../faults.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { hasDirectory, readDirectory } from "../store/directory.ts";
import { findNewest, findNullSequence, readCurrentRows } from "../store/object.ts";
import { readVersionRows } from "../store/version-listing.ts";
import { ListedRows } from "../store/listed-rows.ts";
import { ListedVersions } from "../store/listed-versions.ts";

/**
 * Lists the objects of a bucket in the byte order of their keys. A continuation token continues exactly after the page
 * before it and wins over start-after. With a glob only the matching keys are listed, before they become common
 * prefixes; of the others those that begin with the glob's literal beginning may be read, a bounded number by a call.
 * Fails, in this order, for an unknown attribute, for a text that is not a glob, and for a token of another listing.
 */
export const listObjectsV2: Operation<"listObjectsV2"> = async (request, context) => {
  const { app } = context;
  const { prefix = "", delimiter = "", startAfter = "", matchGlob = "" } = request;
  const shown = shownMembers(request, app, request.fetchOwner === true);
  const glob = matchGlob === "" ? undefined : readGlob(matchGlob);
  const filters = [request.bucket, prefix, delimiter, ...(glob === undefined ? [] : [matchGlob])];
  const tokens = app.pages.open(context, request, filters);
  const maxKeys = pageSizeOf(request);
  const listing = { prefix, delimiter, start: startAfter, entriesMax: maxKeys };
  const page =
    glob === undefined
      ? await readPage(context, { ...listing, start: tokens.after ?? startAfter })
      : await readMatching(context, { ...listing, glob, position: tokens.after });

  const listed = encodeListed(request.encodingType);
  const answer = {
    isTruncated: page.isTruncated,
    commonPrefixes: commonPrefixesOf(page, listed),
    name: request.bucket,
    prefix: listed(prefix),
    delimiter: delimiter === "" ? undefined : listed(delimiter),
    maxKeys,
    encodingType: request.encodingType,
    keyCount: page.entries.length,
    continuationToken: request.continuationToken,
    nextContinuationToken: page.isTruncated ? tokens.tokenOf(page.position) : undefined,
    startAfter: request.startAfter === undefined ? undefined : listed(request.startAfter),
  };
  const contents = encodeRows(ListObjectsV2ResponseSchema.field.contents, page, listed, shown);
  return withEncodedLists(ListObjectsV2ResponseSchema, answer, { contents });
};

/**
 * Lists the objects of a bucket as version 1 of the API does: the marker is a key. The next marker is returned only
 * with a delimiter; without one the last key is the next marker.
 */
export const listObjects: Operation<"listObjects"> = async (request, context) => {
  const { prefix = "", delimiter = "", marker = "" } = request;
  const shown = shownMembers(request, context.app, true);
  const maxKeys = pageSizeOf(request);
  const page = await readPage(context, { prefix, delimiter, start: marker, entriesMax: maxKeys });

  const listed = encodeListed(request.encodingType);
  const last = page.entries.at(-1);
  const answer = {
    isTruncated: page.isTruncated,
    commonPrefixes: commonPrefixesOf(page, listed),
    name: request.bucket,
    prefix: listed(prefix),
    delimiter: delimiter === "" ? undefined : listed(delimiter),
    marker: listed(marker),
    nextMarker: page.isTruncated && delimiter !== "" && last !== undefined ? listed(last.name) : undefined,
    maxKeys,
    encodingType: request.encodingType,
  };
  const contents = encodeRows(ListObjectsResponseSchema.field.contents, page, listed, shown);
  return withEncodedLists(ListObjectsResponseSchema, answer, { contents });
};

/**
 * Lists the versions and delete markers of a bucket in the byte order of their keys, the newest of a key first. The
 * markers of a page continue exactly after the page before it, also when what they name was removed. Checks, in order:
 *  1. the attributes to show are known;
 *  2. a version id marker comes with a key marker;
 *  3. it is one that the bucket can have.
 */
export const listObjectVersions: Operation<"listObjectVersions"> = async (request, { app, access }) => {
  const { prefix = "", delimiter = "", keyMarker = "", versionIdMarker = "" } = request;
  const shown = shownMembers(request, app, true);
  checkVersionIdMarker(keyMarker, versionIdMarker);
  const maxKeys = pageSizeOf(request);
  const { bucket, page, older } = await app.store.read(async (reader) => {
    const opened = await access.bucket.in(reader);
    const { bucketId, versioning } = opened;
    if (versionIdMarker !== "") checkVersionId(versioning, versionIdMarker, "version-id-marker");
    const sequence =
      versionIdMarker === "" ? undefined : await markerSequence(reader, bucketId, keyMarker, versionIdMarker);
    const start = { name: keyMarker, position: { key: keyMarker, sequence } };
    const found = await listPage({ prefix, delimiter, start, entriesMax: maxKeys }, (seek, limit) =>
      readVersionRows(reader, bucketId, prefix, seek, limit),
    );
    const [first] = found.entries;
    const newest = first?.name === keyMarker ? await findNewest(reader, bucketId, keyMarker) : undefined;
    const isOlder = first?.kind === "row" && newest !== undefined && newest.sequence !== first.row.sequence;
    return { bucket: opened, page: found, older: isOlder ? keyMarker : undefined };
  });

  const listed = encodeListed(request.encodingType);
  const last = page.isTruncated ? page.entries.at(-1) : undefined;
  const rows = new ListedVersions({
    owner: (storedOwner) => ownerOf(app, ownerNow(bucket, storedOwner)),
    restoreStatus: shown.restoreStatus,
  });
  for (const [index, entry] of page.entries.entries()) {
    if (entry.kind !== "row") continue;
    const before = page.entries[index - 1];
    const isLatest = before === undefined ? entry.name !== older : before.name !== entry.name;
    rows.add(listed(entry.name), entry.row, isLatest);
  }
  const answer = {
    commonPrefixes: commonPrefixesOf(page, listed),
    isTruncated: page.isTruncated,
    name: request.bucket,
    prefix: listed(prefix),
    delimiter: delimiter === "" ? undefined : listed(delimiter),
    keyMarker: listed(keyMarker),
    versionIdMarker,
    nextKeyMarker: last === undefined ? undefined : listed(last.name),
    nextVersionIdMarker: last?.kind === "row" ? last.row.versionId || nullVersionId : undefined,
    maxKeys,
    encodingType: request.encodingType,
    deleteMarkerPositions: [...rows.deleteMarkerPositions],
  };
  return withEncodedLists(ListObjectVersionsResponseSchema, answer, rows.take());
};

/** The sequence after which a page begins. A null version that was removed says nothing, so its key begins again. */
const markerSequence = async (reader: Reader, bucketId: string, key: string, versionId: string): Promise<number> =>
  (versionId === nullVersionId ? await findNullSequence(reader, bucketId, key) : findSequence(versionId)) ?? Infinity;

const checkVersionIdMarker = (keyMarker: string, versionIdMarker: string): void => {
  if (versionIdMarker === "") return;
  if (keyMarker === "")
    throw invalidArgument(
      "version-id-marker",
      versionIdMarker,
      "A version-id marker cannot be specified without a key marker.",
    );
};

/** The keys of a page: as many as the request asks for, at most and by default 1,000. */
const pageSizeOf = ({ maxKeys }: { readonly maxKeys?: number }): number =>
  Math.min(maxKeys ?? limits.entriesPerPageMax, limits.entriesPerPageMax);

interface KeyListing {
  readonly prefix: string;
  readonly delimiter: string;
  /** Only keys after this one. Empty: all. */
  readonly start: string;
  readonly entriesMax: number;
}

/** A listed object: most are described without decoding their record. */
type ListedRow = StoredRecord<CurrentVersionRecord>;

/** A page, and the bucket as it was when the page was read. */
interface BucketPage extends ListingPage<ListedRow> {
  readonly bucket: Bucket;
  /** What the token of the next page holds. */
  readonly position: string;
}

const readPage = ({ app, access }: BucketContext, { start, ...listing }: KeyListing): Promise<BucketPage> =>
  app.store.read(async (reader) => {
    const bucket = await access.bucket.in(reader);
    const { bucketId } = bucket;
    const { prefix, delimiter } = listing;
    const page = await listPage<ListedRow, string>(
      { ...listing, start: { name: start, position: start } },
      (seek, limit) => readCurrentRows(reader, bucketId, prefix, seek, limit),
      delimiter === "/" && hasDirectory(prefix)
        ? (seek, limit) => readDirectory(reader, bucketId, prefix, seek, limit)
        : undefined,
    );
    return { ...page, bucket, position: page.entries.at(-1)?.name ?? "" };
  });

interface MatchingListing extends KeyListing {
  readonly glob: Glob;
  /** What the token holds. Undefined: there is none. */
  readonly position: string | undefined;
}

const readMatching = (
  { app, access }: BucketContext,
  { start, position, ...listing }: MatchingListing,
): Promise<BucketPage> =>
  app.store.read(async (reader) => {
    const bucket = await access.bucket.in(reader);
    const scanned = scannedPrefix(listing);
    if (scanned === undefined) return { bucket, entries: [], isTruncated: false, position: "" };
    const begin = { ...listing, start: { name: start, position: start } };
    const { next, ...page } = await listMatching<ListedRow>(
      { ...listing, start: position === undefined ? firstSeek(begin) : decodeSeek(position) },
      (seek, limit) => readCurrentRows(reader, bucket.bucketId, scanned, seek, limit),
    );
    return { ...page, bucket, position: next === undefined ? "" : encodeSeek(next) };
  });

/** Throws INVALID_ARGUMENT for a text that is not a glob. */
const readGlob = (text: string): Glob => {
  try {
    return parseGlob(text);
  } catch (error) {
    if (!(error instanceof GlobError)) throw error;
    throw invalidArgument("match-glob", text, `The glob is not valid: ${error.message}.`);
  }
};

/** The objects of a page, as items of the list that the answer has of them. */
const encodeRows = (
  list: DescField,
  { entries, bucket }: BucketPage,
  listed: (text: string) => string,
  shown: ShownMembers,
): Uint8Array => {
  const { owner: ownerOfRow } = shown;
  const rows = new ListedRows(list, {
    row: (key, row) => describeRow(key, row, bucket, shown),
    owner: ownerOfRow && ((storedOwner) => ownerOfRow(ownerNow(bucket, storedOwner))),
  });
  for (const entry of entries) if (entry.kind === "row") rows.add(listed(entry.name), entry.row);
  return rows.take();
};

const commonPrefixesOf = (page: ListingPage<unknown>, listed: (text: string) => string) =>
  page.entries.flatMap((entry) => (entry.kind === "common-prefix" ? [{ prefix: listed(entry.name) }] : []));

const describeRow = (key: string, row: CurrentVersionRecord, bucket: Bucket, shown: ShownMembers) => ({
  ...describeListed(key, row),
  owner: shown.owner?.(ownerNow(bucket, row.ownerAccountId)),
  restoreStatus: shown.restoreStatus(row),
});

/** The members of a listed object that are shown on demand; each is undefined where it is not. */
interface ShownMembers {
  readonly owner: ((accountId: string) => ReturnType<typeof ownerOf>) | undefined;
  restoreStatus(row: Pick<CurrentVersionRecord, "restore">): ReturnType<typeof describeRestoreStatus>;
}

/** Throws INVALID_ARGUMENT for an attribute that is not known. */
const shownMembers = (
  { optionalObjectAttributes }: { readonly optionalObjectAttributes: readonly string[] },
  app: Application,
  showsOwner: boolean,
): ShownMembers => {
  for (const attribute of optionalObjectAttributes)
    if (attribute !== "RestoreStatus")
      throw invalidArgument("x-svc-optional-object-attributes", attribute, "Invalid attribute name specified");
  const showsRestore = optionalObjectAttributes.length > 0;
  const nowMs = app.clock.now();
  return {
    owner: showsOwner ? (accountId) => ownerOf(app, accountId) : undefined,
    restoreStatus: (row) => (showsRestore ? describeRestoreStatus(row, nowMs) : undefined),
  };
};
