import type {
  ListObjectsRequest,
  ListObjectsV2Request,
  ListObjectVersionsRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { CurrentVersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Application, Context } from "../application.ts";
import { openContinuation } from "../continuation.ts";
import { quoteETag } from "../domain/conditions.ts";
import { instant } from "../domain/instant.ts";
import type { ListingPage, ListingRequest } from "../domain/listing.ts";
import { listPage } from "../domain/listing.ts";
import { checkVersionId, nullVersionId } from "../domain/object-version.ts";
import { listedText } from "../domain/url-encoding.ts";
import { invalidArgument } from "../faults.ts";
import { ownerOf } from "../domain/owner.ts";
import { readCurrentRows } from "../store/object.ts";

const keysPerPageMax = 1000;

/**
 * Lists the objects of a bucket in the byte order of their keys. A continuation token goes on exactly behind the page
 * before it and wins over start-after. Refuses as every use of a bucket does, then a token of another listing.
 */
export const listObjectsV2 = async (request: ListObjectsV2Request, context: Context) => {
  const { app, caller } = context;
  const { prefix = "", delimiter = "", startAfter = "" } = request;
  const binding = {
    caller: caller.accountId,
    operation: "ListObjectsV2",
    filters: [request.bucket, prefix, delimiter],
  };
  const maxKeys = Math.min(request.maxKeys ?? keysPerPageMax, keysPerPageMax);
  const page = await readPage(request, context, () => ({
    prefix,
    delimiter,
    start: openContinuation(app, binding, request.continuationToken) ?? startAfter,
    entriesMax: maxKeys,
  }));

  const listed = listedText(request.encodingType);
  return {
    ...describePage(page, listed, request.fetchOwner === true ? app : undefined),
    name: request.bucket,
    prefix: listed(prefix),
    delimiter: request.delimiter === undefined ? undefined : listed(request.delimiter),
    maxKeys,
    encodingType: request.encodingType,
    keyCount: page.entries.length,
    continuationToken: request.continuationToken,
    nextContinuationToken: page.isTruncated ? app.pageTokens.seal(binding, page.entries.at(-1)?.name ?? "") : undefined,
    startAfter: request.startAfter === undefined ? undefined : listed(request.startAfter),
  };
};

/**
 * Lists the objects of a bucket, the older way: the marker is a key. The next marker is told only when names are
 * rolled up; otherwise the last key is it. Refuses as every use of a bucket does.
 */
export const listObjects = async (request: ListObjectsRequest, context: Context) => {
  const { prefix = "", delimiter = "", marker = "" } = request;
  const maxKeys = Math.min(request.maxKeys ?? keysPerPageMax, keysPerPageMax);
  const page = await readPage(request, context, () => ({ prefix, delimiter, start: marker, entriesMax: maxKeys }));

  const listed = listedText(request.encodingType);
  const last = page.entries.at(-1);
  return {
    ...describePage(page, listed, context.app),
    name: request.bucket,
    prefix: listed(prefix),
    delimiter: request.delimiter === undefined ? undefined : listed(request.delimiter),
    marker: listed(marker),
    nextMarker: page.isTruncated && delimiter !== "" && last !== undefined ? listed(last.name) : undefined,
    maxKeys,
    encodingType: request.encodingType,
  };
};

/**
 * Lists the versions of a bucket in the byte order of their keys. Without versioning each object has one, the null
 * version, which is its latest, and no key has a delete marker; a version id marker therefore adds nothing to its key
 * marker. Refuses a version id marker without a key marker or of a version that no object here has, then as every use of
 * a bucket does.
 */
export const listObjectVersions = async (request: ListObjectVersionsRequest, context: Context) => {
  const { prefix = "", delimiter = "", keyMarker = "", versionIdMarker = "" } = request;
  checkVersionIdMarker(keyMarker, versionIdMarker);
  const maxKeys = Math.min(request.maxKeys ?? keysPerPageMax, keysPerPageMax);
  const page = await readPage(request, context, () => ({ prefix, delimiter, start: keyMarker, entriesMax: maxKeys }));

  const listed = listedText(request.encodingType);
  const last = page.isTruncated ? page.entries.at(-1) : undefined;
  const { contents, ...described } = describePage(page, listed, context.app);
  return {
    ...described,
    versions: contents.map((version) => ({ ...version, versionId: nullVersionId, isLatest: true })),
    name: request.bucket,
    prefix: listed(prefix),
    delimiter: request.delimiter === undefined ? undefined : listed(request.delimiter),
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

const readPage = (
  request: ListObjectsRequest | ListObjectsV2Request | ListObjectVersionsRequest,
  context: Context,
  plan: () => Omit<ListingRequest<string>, "start"> & { readonly start: string },
): Promise<ListingPage<CurrentVersionRecord>> =>
  context.app.store.read(async (reader) => {
    const { bucketId } = await useBucket(reader, context, request);
    const { start, ...listing } = plan();
    return listPage({ ...listing, start: { name: start, position: start } }, (seek, limit) =>
      readCurrentRows(reader, bucketId, listing.prefix, seek, limit),
    );
  });

/** Owners are shown where the application is given. */
const describePage = (
  page: ListingPage<CurrentVersionRecord>,
  listed: (text: string) => string,
  app: Application | undefined,
) => ({
  isTruncated: page.isTruncated,
  contents: page.entries.flatMap((entry) =>
    entry.kind === "row" ? [describeRow(listed(entry.name), entry.row, app)] : [],
  ),
  commonPrefixes: page.entries.flatMap((entry) =>
    entry.kind === "common-prefix" ? [{ prefix: listed(entry.name) }] : [],
  ),
});

const describeRow = (key: string, row: CurrentVersionRecord, app: Application | undefined) => ({
  key,
  lastModified: instant(Number(row.lastModifiedMs)),
  eTag: quoteETag(row.eTag),
  checksumAlgorithm: row.checksumAlgorithm === "" ? [] : [row.checksumAlgorithm],
  checksumType: row.checksumType === "" ? undefined : row.checksumType,
  size: row.sizeBytes,
  storageClass: row.storageClass,
  owner: app === undefined ? undefined : ownerOf(app, row.ownerAccountId),
});
