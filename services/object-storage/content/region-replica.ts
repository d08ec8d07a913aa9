import { Code, ConnectError } from "@connectrpc/connect";

import type { ReplicationStepRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import { openDigest } from "../../kit/digests/digest.ts";
import type { Reader, Transaction } from "../../kit/store/store.ts";
import { encodeDigest } from "../domain/checksum-algorithm.ts";
import { describeContext } from "../domain/encryption.ts";
import { instant } from "../domain/instant.ts";
import { describeLock } from "../domain/object-lock.ts";
import { resourceArn } from "../domain/resource-arn.ts";
import { replicaIdOf, sequenceMs } from "../domain/versioning.ts";
import { openContentKey } from "../encryption/content-encryption.ts";
import { limits } from "../limits.ts";
import type { BucketPlace } from "../regions/other-regions.ts";
import type { RegionClient, ReplicaMessage } from "../regions/region-client.ts";
import { StalledError } from "../regions/region-client.ts";
import { rangesOf } from "../store/object.ts";
import type { CopiedVersion, CopyOutcome, ReplicationApplication } from "./copied-version.ts";
import { assumeCopyRole, findCopied, refusedAction } from "./copied-version.ts";

/**
 * Copies a version into a bucket of another region, by its PutObjectReplica. Of one that is not small first the tags
 * alone are sent, because it may be there. `settle` runs in a transaction once it is.
 */
export const copyToRegion = async (
  app: ReplicationApplication,
  step: ReplicationStepRecord,
  signal: AbortSignal,
  settle: (transaction: Transaction) => Promise<void>,
): Promise<CopyOutcome> => {
  const planned = await app.store.read((reader) => planRegionCopy(app, reader, step));
  if (!("version" in planned)) return planned;
  const place = await app.regions.find(step.destination);
  if (place === undefined)
    return { kind: "later", reason: `no region that answers has the bucket ${step.destination}` };
  const region = app.regions.clientOf(place.region);
  if (region === undefined) return { kind: "never", reason: `there is no key for the region ${place.region}` };
  // After many starts in a row versions are ahead of the clock, and the region refuses what is far ahead of its own.
  if (sequenceMs(Number(step.sequence)) > app.clock.now() + limits.replicaAheadMsMax / 2)
    return { kind: "later", reason: "the version is ahead of the clock" };
  const head = headOf(planned, step, Math.max(app.clock.now(), app.lockClock.now()));
  try {
    const isSmall = planned.version.sizeBytes <= limits.inlineBytesMax;
    const isThere = !isSmall && (await region.putReplica(one({ ...head, contentOmitted: true }), signal));
    if (!isThere) await send(app, region, planned, head, signal);
  } catch (error) {
    signal.throwIfAborted();
    return outcomeOf(error, place);
  }
  return app.store.transact(
    async (transaction): Promise<CopyOutcome> => {
      await settle(transaction);
      return { kind: "copied" };
    },
    { signal },
  );
};

/** The version of a step, if the role may copy it; the other region decides for the key with which it is called. */
const planRegionCopy = async (
  app: ReplicationApplication,
  reader: Reader,
  step: ReplicationStepRecord,
): Promise<CopiedVersion | CopyOutcome> => {
  const found = await findCopied(reader, step);
  if (!("version" in found)) return found;
  const { source, destination, version, role: roleArn } = found;
  if (version.encryption?.customerKey !== undefined)
    return { kind: "never", reason: "what is under a key of a caller stays in its region" };
  const role = assumeCopyRole(app, source, roleArn);
  if (!("caller" in role)) return role;
  const keyArn = destination.encryptionConfiguration?.replicaKmsKeyId;
  if (keyArn !== undefined && parseArn(keyArn) === undefined)
    return { kind: "never", reason: "a managed key of another region is named by its ARN" };
  const arn = resourceArn(app, `${step.destination}/${step.key}`);
  const resource = { arn, ownerAccountId: source.accountId, policies: [] };
  const refused = await refusedAction(app, reader, role.caller, found, step.key, { resource, keyArn });
  return refused === undefined ? found : { kind: "never", reason: `the role may not ${refused}` };
};

/** The content follows in the pieces in which it is read; without a checksum of all of it, one comes after it. */
const send = async (
  app: ReplicationApplication,
  region: Pick<RegionClient, "putReplica">,
  { version }: CopiedVersion,
  head: ReplicaMessage,
  signal: AbortSignal,
): Promise<void> => {
  if (version.isDeleteMarker) return void (await region.putReplica(one(head), signal));
  const contentKey = await openContentKey(app, version.encryption, undefined);
  const range = { offsetBytes: 0, lengthBytes: Number(version.sizeBytes) };
  const ranges = await app.store.read((reader) => rangesOf(reader, version, range));
  const digest = version.checksum?.type === "FULL_OBJECT" ? undefined : await openDigest("CRC64NVME");
  async function* messages(): AsyncGenerator<ReplicaMessage> {
    yield head;
    for await (const body of app.content.read(ranges, contentKey)) {
      digest?.update(body);
      yield { body };
    }
    if (digest !== undefined) yield { checksumCrc64nvme: encodeDigest(digest.finish()) };
  }
  await region.putReplica(messages(), signal);
};

// eslint-disable-next-line @typescript-eslint/require-await -- a stream of one message.
async function* one(message: ReplicaMessage): AsyncGenerator<ReplicaMessage> {
  yield message;
}

/** What describes a replica: everything but its content. A retention that has ended is left out. */
const headOf = (
  { version, destination }: CopiedVersion,
  { key, sequence, destination: bucket }: ReplicationStepRecord,
  nowMs: number,
): ReplicaMessage => {
  const { contentHeaders, checksum, encryption, retention, legalHold, isDeleteMarker } = version;
  const expectedBucketOwner = destination.account;
  const base = {
    bucket,
    key,
    versionId: replicaIdOf(version, Number(sequence)),
    lastModified: instant(Number(version.lastModifiedMs)),
    ...(expectedBucketOwner !== undefined && { expectedBucketOwner }),
  };
  if (isDeleteMarker) return { ...base, deleteMarker: true };
  const tagging = new URLSearchParams(version.tags.map((tag): [string, string] => [tag.key, tag.value])).toString();
  return {
    ...base,
    eTag: version.eTag,
    contentLength: version.sizeBytes,
    ...(checksum && { checksum: { algorithm: checksum.algorithm, type: checksum.type, value: checksum.value } }),
    parts: version.parts.map((part) => ({ size: part.sizeBytes, checksum: part.checksum })),
    ...(contentHeaders && givenOf(contentHeaders)),
    metadata: version.metadata,
    storageClass: destination.storageClass ?? version.storageClass,
    ...(tagging !== "" && { tagging }),
    ...describeLock({ ...(retention && retention.retainUntilMs > nowMs && { retention }), legalHold }),
    ...(encryption?.kms && {
      serverSideEncryption: encryption.kms.isDualLayer ? ServerSideEncryption.KMS_DSSE : ServerSideEncryption.KMS,
      sseKmsKeyId: destination.encryptionConfiguration?.replicaKmsKeyId ?? "",
      ...describeContext(encryption),
      ...(!encryption.kms.isDualLayer && { bucketKeyEnabled: encryption.kms.isBucketKeyEnabled }),
    }),
  };
};

/** The headers that were given. */
const givenOf = (headers: object): object =>
  Object.fromEntries(Object.entries(headers).filter(([name, value]) => name !== "$typeName" && value !== ""));

/** The refusals that the same call will get again. */
const lastingCodes: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.FailedPrecondition,
  Code.NotFound,
  Code.PermissionDenied,
  Code.Unimplemented,
  Code.OutOfRange,
  Code.AlreadyExists,
]);

/** What becomes of a copy whose call failed. */
const outcomeOf = (error: unknown, { region }: BucketPlace): CopyOutcome => {
  if (error instanceof StalledError) return { kind: "later", reason: `the region ${region} did not go on` };
  if (!(error instanceof ConnectError)) throw error;
  const said = `the region ${region} answered ${Code[error.code]}: ${error.rawMessage}`;
  return { kind: lastingCodes.has(error.code) ? "never" : "later", reason: said };
};
