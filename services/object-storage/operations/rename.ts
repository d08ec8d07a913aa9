import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { RenameObjectRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { refuse } from "../access/refusals.ts";
import type { BucketContext, Operation } from "../application.ts";
import { deleteVersion } from "../content/deletion.ts";
import type { ReadConditions } from "../domain/conditions.ts";
import { evaluateReadConditions, evaluateWriteConditions } from "../domain/conditions.ts";
import type { Instant } from "../domain/instant.ts";
import { instantMs } from "../domain/instant.ts";
import { checkKey } from "../domain/object-attributes.ts";
import { shownVersionId } from "../domain/versioning.ts";
import { fault, invalidArgument, invalidRequest } from "../faults.ts";
import { shareExtents } from "../store/blob.ts";
import type { Bucket } from "../store/bucket.ts";
import type { StoredVersion } from "../store/object.ts";
import { findCurrent } from "../store/object.ts";
import { putVersion } from "../store/version-change.ts";

/** What a caller must be allowed to do with the object under its old key. */
const sourceActions = ["GetObject", "DeleteObject"];

/**
 * Gives an object another key in one transaction, whatever its size; everything about it stays, its date too. Readers
 * see it under one of both keys at any time. A repetition with the same token succeeds as long as the object that the
 * first call has made is the current one. Checks, in order:
 *  1. the new key is not too long, the old one is URL-encoded, and another one (INVALID_ARGUMENT, INVALID_REQUEST);
 *  2. the caller may read and delete the object (ACCESS_DENIED);
 *  3. it exists and is no delete marker (NO_SUCH_KEY);
 *  4. the conditions of the old key hold, then those of the new one (PRECONDITION_FAILED);
 *  5. it is not locked, where it would be removed (OBJECT_LOCKED).
 */
export const renameObject: Operation<"renameObject"> = async (request, context) => {
  const { app, access } = context;
  const { key } = request;
  checkKey(key);
  const source = decodeSource(request.renameSource);
  if (source === key) throw invalidRequest("The source and the destination of a rename must differ.");
  const nowMs = app.clock.now();
  await app.store.transact(
    async (transaction) => {
      const bucket = await access.bucket.in(transaction);
      await checkSourceAccess(transaction, context, source);
      const found = await findCurrent(transaction, bucket.bucketId, source);
      const replaced = await findCurrent(transaction, bucket.bucketId, key);
      if (found === undefined && isDone(request, replaced)) return;
      if (found === undefined) throw access.bucket.noSuchKey(source);
      checkConditions(request, found, replaced, nowMs);
      await move(transaction, context, bucket, { found, source, key, token: request.clientToken ?? "", nowMs });
    },
    { signal: context.signal },
  );
  return {};
};

const decodeSource = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw invalidArgument("x-svc-rename-source", text, "The source of a rename must be a URL-encoded key.");
  }
};

const checkSourceAccess = async (reader: Reader, context: BucketContext, source: string): Promise<void> => {
  const { bucket } = context.access;
  for (const action of sourceActions)
    if (!(await bucket.may(reader, action, source)))
      throw refuse(context, action, `${bucket.name}/${source}`, "rename-source");
};

/** Whether an earlier call with the same token has made the object. */
const isDone = ({ clientToken = "" }: RenameObjectRequest, made: StoredVersion | undefined): boolean =>
  clientToken !== "" && made?.version.renameToken === clientToken;

/** Throws PRECONDITION_FAILED, and NO_SUCH_KEY for If-Match without an object with the new key. */
const checkConditions = (
  request: RenameObjectRequest,
  found: StoredVersion,
  replaced: StoredVersion | undefined,
  nowMs: number,
): void => {
  const ofSource = {
    ifMatch: request.sourceIfMatch,
    ifNoneMatch: request.sourceIfNoneMatch,
    ifModifiedSinceMs: msOf(request.sourceIfModifiedSince),
    ifUnmodifiedSinceMs: msOf(request.sourceIfUnmodifiedSince),
  };
  checkRead(ofSource, found, nowMs, "x-svc-rename-source-");
  const ofDestination = { ifMatch: request.destinationIfMatch, ifNoneMatch: request.destinationIfNoneMatch };
  const outcome = evaluateWriteConditions(ofDestination, replaced?.version);
  if (outcome.kind === "failed") throw fault(ErrorReason.PRECONDITION_FAILED, { condition: outcome.condition });
  if (outcome.kind === "absent") throw fault(ErrorReason.NO_SUCH_KEY, { key: request.key });
  const dates = {
    ifModifiedSinceMs: msOf(request.destinationIfModifiedSince),
    ifUnmodifiedSinceMs: msOf(request.destinationIfUnmodifiedSince),
  };
  if (replaced !== undefined) checkRead(dates, replaced, nowMs, "");
};

const checkRead = (conditions: ReadConditions, { version }: StoredVersion, nowMs: number, prefix: string): void => {
  const subject = { eTag: version.eTag, lastModifiedMs: Number(version.lastModifiedMs) };
  const outcome = evaluateReadConditions(conditions, subject, nowMs);
  if (outcome.kind === "proceed") return;
  const unmet = conditions.ifNoneMatch === undefined ? "If-Modified-Since" : "If-None-Match";
  const condition = outcome.kind === "failed" ? outcome.condition : unmet;
  throw fault(ErrorReason.PRECONDITION_FAILED, {
    condition: prefix === "" ? condition : prefix + condition.toLowerCase(),
  });
};

const msOf = (time: Instant | undefined): number | undefined => (time === undefined ? undefined : instantMs(time));

/** What is moved where. */
interface Move {
  readonly found: StoredVersion;
  readonly source: string;
  readonly key: string;
  readonly token: string;
  readonly nowMs: number;
}

/** Makes the version under the new key, which shares the content, and deletes the old key as a caller would. */
const move = async (
  transaction: Transaction,
  context: BucketContext,
  bucket: Bucket,
  { found: { version }, source, key, token, nowMs }: Move,
): Promise<void> => {
  await shareExtents(transaction, version.extents);
  const { replication: _replication, ...kept } = version;
  const renamed = { ...kept, renameToken: token, renamedMs: BigInt(nowMs) };
  const made = await putVersion(transaction, context.app, bucket, key, renamed, nowMs);
  await context.app.events.announce(transaction, context, bucket, {
    kind: "created",
    key,
    sizeBytes: Number(version.sizeBytes),
    eTag: version.eTag,
    versionId: shownVersionId(bucket.versioning, made),
    sequence: made.sequence,
    timeMs: nowMs,
  });
  await deleteVersion(transaction, context, bucket, { key: source });
};
