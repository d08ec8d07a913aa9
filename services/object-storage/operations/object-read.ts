import type {
  GetObjectRequest,
  HeadObjectRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import { useBucket } from "../access/bucket-access.ts";
import type { Context } from "../application.ts";
import { judgeRead, quoteETag } from "../domain/conditions.ts";
import { instantMs } from "../domain/instant.ts";
import { refuseUnoffered } from "../domain/offer.ts";
import type { ReadSelection } from "../domain/object-version.ts";
import {
  checkOverrides,
  checkPartAndRange,
  checkVersionId,
  describeChecksum,
  describeVersion,
  selectContent,
} from "../domain/object-version.ts";
import { fault } from "../faults.ts";
import type { CurrentObject } from "../store/object.ts";
import { findCurrent, stretchesOf } from "../store/object.ts";

type ReadRequest = GetObjectRequest | HeadObjectRequest;

/**
 * Reads an object or a part of it. Refuses what is not offered, a part together with a range, overrides that no
 * header can hold, a version id that no object here has, then as every use of a bucket does, an unknown key, conditions that do not hold, a part or range
 * that the object does not have. Nothing is answered before the first bytes are verified.
 */
export async function* getObject(request: GetObjectRequest, context: Context) {
  const { app } = context;
  checkRead(request);

  const { found, selection, stretches } = await app.store.read(async (reader) => {
    const opened = await openForRead(reader, request, context);
    return { ...opened, stretches: await stretchesOf(reader, opened.found.version, opened.selection.range) };
  });

  const pieces = app.content.read(stretches);
  try {
    const first = await pieces.next();
    yield { ...describe(request, found, selection), body: first.done === true ? undefined : first.value };
    for await (const piece of pieces) yield { body: piece };
  } finally {
    await pieces.return(undefined);
  }
}

/** Tells everything about an object but its content. Refuses as getObject does. */
export const headObject = async (request: HeadObjectRequest, context: Context) => {
  checkRead(request);
  const { found, selection } = await context.app.store.read((reader) => openForRead(reader, request, context));
  return describe(request, found, selection);
};

/** What can be refused from the request alone. */
const checkRead = (request: ReadRequest): void => {
  refuseUnoffered(request);
  checkPartAndRange(request);
  checkOverrides(request);
  checkVersionId(request.versionId);
};

const openForRead = async (
  reader: Reader,
  request: ReadRequest,
  context: Context,
): Promise<{ readonly found: CurrentObject; readonly selection: ReadSelection }> => {
  const bucket = await useBucket(reader, context, request);
  const found = await findCurrent(reader, bucket.bucketId, request.key);
  if (found === undefined) throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
  checkConditions(request, found, context);
  return { found, selection: selectContent(found.version, request) };
};

const checkConditions = (request: ReadRequest, { version }: CurrentObject, context: Context): void => {
  const { ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince } = request;
  const subject = { eTag: version.eTag, lastModifiedMs: Number(version.lastModifiedMs) };
  const conditions = {
    ifMatch,
    ifNoneMatch,
    ifModifiedSinceMs: ifModifiedSince === undefined ? undefined : instantMs(ifModifiedSince),
    ifUnmodifiedSinceMs: ifUnmodifiedSince === undefined ? undefined : instantMs(ifUnmodifiedSince),
  };
  const verdict = judgeRead(conditions, subject, context.app.clock.now());
  if (verdict.kind === "failed") throw fault(ErrorReason.PRECONDITION_FAILED, { condition: verdict.condition });
  if (verdict.kind === "not-modified")
    throw fault(ErrorReason.NOT_MODIFIED, {
      e_tag: quoteETag(version.eTag),
      last_modified: new Date(subject.lastModifiedMs).toUTCString(),
    });
};

const describe = (request: ReadRequest, { version }: CurrentObject, selection: ReadSelection) => {
  const isWhole = selection.range.lengthBytes === Number(version.sizeBytes);
  return {
    ...describeVersion(version, request),
    ...(request.checksumMode === "ENABLED" && isWhole ? describeChecksum(version) : {}),
    contentLength: BigInt(selection.range.lengthBytes),
    contentRange: selection.contentRange,
    partsCount: selection.partsCount,
    statusCode: selection.statusCode,
  };
};
