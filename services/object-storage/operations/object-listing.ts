import type { CurrentVersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Application, BucketContext, Operation } from "../application.ts";
import { quoteETag } from "../domain/conditions.ts";
import { instant } from "../domain/instant.ts";
import type { ListingPage } from "../domain/listing.ts";
import { encodeListed, listPage } from "../domain/listing.ts";
import { checkVersionId, nullVersionId } from "../domain/object-version.ts";
import { ownerOf } from "../domain/owner.ts";
import { ownerNow } from "../domain/ownership.ts";
import { invalidArgument } from "../faults.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { readCurrentRows } from "../store/object.ts";

/**
 * Lists the objects of a bucket in the byte order of their keys. A continuation token continues exactly after the page
 * before it and wins over start-after. Fails for a token of another listing.
 */
export const listObjectsV2: Operation<"listObjectsV2"> = async (request, context) => {
  const { app } = context;
  const { prefix = "", delimiter = "", startAfter = "" } = request;
  const tokens = app.pages.open(context, request, [request.bucket, prefix, delimiter]);
  const maxKeys = pageSizeOf(request);
  const start = tokens.after ?? startAfter;
  const page = await readPage(context, { prefix, delimiter, start, entriesMax: maxKeys });

  const listed = encodeListed(request.encodingType);
  return {
    ...describePage(page, listed, request.fetchOwner === true ? app : undefined),
    name: request.bucket,
    prefix: listed(prefix),
    delimiter: delimiter === "" ? undefined : listed(delimiter),
    maxKeys,
    encodingType: request.encodingType,
    keyCount: page.entries.length,
    continuationToken: request.continuationToken,
    nextContinuationToken: page.isTruncated ? tokens.tokenOf(page.entries.at(-1)?.name ?? "") : undefined,
    startAfter: request.startAfter === undefined ? undefined : listed(request.startAfter),
  };
};

/**
 * Lists the objects of a bucket as version 1 of the API does: the marker is a key. The next marker is returned only
 * with a delimiter; without one the last key is the next marker.
 */
export const listObjects: Operation<"listObjects"> = async (request, context) => {
  const { prefix = "", delimiter = "", marker = "" } = request;
  const maxKeys = pageSizeOf(request);
  const page = await readPage(context, { prefix, delimiter, start: marker, entriesMax: maxKeys });

  const listed = encodeListed(request.encodingType);
  const last = page.entries.at(-1);
  return {
    ...describePage(page, listed, context.app),
    name: request.bucket,
    prefix: listed(prefix),
    delimiter: delimiter === "" ? undefined : listed(delimiter),
    marker: listed(marker),
    nextMarker: page.isTruncated && delimiter !== "" && last !== undefined ? listed(last.name) : undefined,
    maxKeys,
    encodingType: request.encodingType,
  };
};

/**
 * Lists the versions of a bucket in the byte order of their keys. Without versioning each object has one, the null
 * version, which is its latest, and no key has a delete marker; a version id marker therefore adds nothing to its key
 * marker. Checks, in order:
 *  1. a version id marker comes with a key marker;
 *  2. it is one that an object can have.
 */
export const listObjectVersions: Operation<"listObjectVersions"> = async (request, context) => {
  const { prefix = "", delimiter = "", keyMarker = "", versionIdMarker = "" } = request;
  checkVersionIdMarker(keyMarker, versionIdMarker);
  const maxKeys = pageSizeOf(request);
  const page = await readPage(context, { prefix, delimiter, start: keyMarker, entriesMax: maxKeys });

  const listed = encodeListed(request.encodingType);
  const last = page.isTruncated ? page.entries.at(-1) : undefined;
  const { contents, ...described } = describePage(page, listed, context.app);
  return {
    ...described,
    versions: contents.map((version) => ({ ...version, versionId: nullVersionId, isLatest: true })),
    name: request.bucket,
    prefix: listed(prefix),
    delimiter: delimiter === "" ? undefined : listed(delimiter),
    keyMarker: listed(keyMarker),
    versionIdMarker,
    nextKeyMarker: last === undefined ? undefined : listed(last.name),
    nextVersionIdMarker: last?.kind === "row" ? nullVersionId : undefined,
    maxKeys,
    encodingType: request.encodingType,
  };
};

const checkVersionIdMarker = (keyMarker: string, versionIdMarker: string): void => {
  if (versionIdMarker === "") return;
  if (keyMarker === "")
    throw invalidArgument(
      "version-id-marker",
      versionIdMarker,
      "A version-id marker cannot be specified without a key marker.",
    );
  checkVersionId(versionIdMarker, "version-id-marker");
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

/** A page, and the bucket as it was when the page was read. */
interface BucketPage extends ListingPage<CurrentVersionRecord> {
  readonly bucket: Bucket;
}

const readPage = ({ app, access }: BucketContext, { start, ...listing }: KeyListing): Promise<BucketPage> =>
  app.store.read(async (reader) => {
    const bucket = await access.bucket.in(reader);
    const page = await listPage({ ...listing, start: { name: start, position: start } }, (seek, limit) =>
      readCurrentRows(reader, bucket.bucketId, listing.prefix, seek, limit),
    );
    return { ...page, bucket };
  });

/** Owners are included if the application is given. */
const describePage = (page: BucketPage, listed: (text: string) => string, app: Application | undefined) => ({
  isTruncated: page.isTruncated,
  contents: page.entries.flatMap((entry) =>
    entry.kind === "row" ? [describeRow(listed(entry.name), entry.row, page.bucket, app)] : [],
  ),
  commonPrefixes: page.entries.flatMap((entry) =>
    entry.kind === "common-prefix" ? [{ prefix: listed(entry.name) }] : [],
  ),
});

const describeRow = (key: string, row: CurrentVersionRecord, bucket: Bucket, app: Application | undefined) => ({
  key,
  lastModified: instant(Number(row.lastModifiedMs)),
  eTag: quoteETag(row.eTag),
  checksumAlgorithm: row.checksumAlgorithm === "" ? [] : [row.checksumAlgorithm],
  checksumType: row.checksumType === "" ? undefined : row.checksumType,
  size: row.sizeBytes,
  storageClass: row.storageClass,
  owner: app === undefined ? undefined : ownerOf(app, ownerNow(bucket, row.ownerAccountId)),
});
