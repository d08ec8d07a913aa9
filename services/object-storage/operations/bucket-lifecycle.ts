/** The lifecycle rules of a bucket, in the newer and in the older form of their document. */
import { create } from "@bufbuild/protobuf";

import { LifecycleRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { LifecycleRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  LifecycleConfiguration,
  LifecycleRule,
  OlderLifecycleRule,
} from "../../../gen/quartet/objectstorage/v1/lifecycle_pb.ts";
import {
  LifecycleConfigurationSchema,
  LifecycleRuleSchema,
} from "../../../gen/quartet/objectstorage/v1/lifecycle_pb.ts";
import type { BucketContext, Operation } from "../application.ts";
import { planLifecycle } from "../domain/lifecycle.ts";
import { fault, invalidArgument, invalidRequest } from "../faults.ts";
import { changeHasLifecycle } from "../store/bucket.ts";
import { deleteDocument, findDocument, putDocument } from "../store/configuration.ts";

const sizes = new Set(["all_storage_classes_128K", "varies_by_storage_class"]);
const defaultSize = "all_storage_classes_128K";

/**
 * Replaces the lifecycle rules of a bucket; they are applied to what is stored as well. Repeating it changes nothing.
 * Checks, in order:
 *  1. the least size of moved objects is known (INVALID_ARGUMENT);
 *  2. the rules are valid, see `planLifecycle`;
 *  3. deleting versions of the bucket needs no second factor (INVALID_BUCKET_STATE).
 */
export const putBucketLifecycleConfiguration: Operation<"putBucketLifecycleConfiguration"> = async (
  request,
  context,
) => {
  const size = request.transitionDefaultMinimumObjectSize ?? defaultSize;
  if (!sizes.has(size))
    throw invalidArgument("x-svc-transition-default-minimum-object-size", size, "Invalid default minimum object size.");
  await putRules(context, request.lifecycleConfiguration, size);
  return { transitionDefaultMinimumObjectSize: size };
};

/** Replaces the lifecycle rules of a bucket by the older document. Checks as putBucketLifecycleConfiguration. */
export const putBucketLifecycle: Operation<"putBucketLifecycle"> = async (request, context) => {
  const older = request.lifecycleConfiguration;
  const configuration = older && create(LifecycleConfigurationSchema, { rules: older.rules.map(fromOlder) });
  await putRules(context, configuration, defaultSize);
  return {};
};

/** Returns the lifecycle rules of a bucket. Fails if it has none. */
export const getBucketLifecycleConfiguration: Operation<"getBucketLifecycleConfiguration"> = async (
  _request,
  context,
) => {
  const { configuration, transitionMinimum } = await getRules(context);
  return { rules: configuration?.rules ?? [], transitionDefaultMinimumObjectSize: transitionMinimum };
};

/**
 * Returns the lifecycle rules of a bucket in the older document. Checks, in order:
 *  1. the bucket has rules;
 *  2. the older document can express them (INVALID_REQUEST).
 */
export const getBucketLifecycle: Operation<"getBucketLifecycle"> = async (_request, context) => {
  const { configuration } = await getRules(context);
  return { rules: (configuration?.rules ?? []).map(toOlder) };
};

/** Deletes the lifecycle rules of a bucket: nothing ends by them afterwards. Repeating it succeeds. */
export const deleteBucketLifecycle: Operation<"deleteBucketLifecycle"> = async (_request, { app, access }) => {
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    deleteDocument(transaction, bucket.bucketId, "lifecycle");
    changeHasLifecycle(transaction, bucket, false);
  });
  return {};
};

const putRules = async (
  { app, access }: BucketContext,
  given: LifecycleConfiguration | undefined,
  transitionMinimum: string,
): Promise<void> => {
  const configuration = planLifecycle(given, () => app.ids.uuid());
  const document = create(LifecycleRecordSchema, { configuration, transitionMinimum });
  await app.store.transact(async (transaction) => {
    const bucket = await access.bucket.in(transaction);
    if (bucket.mfaDelete === "Enabled")
      throw fault(ErrorReason.INVALID_BUCKET_STATE, {
        explanation: "Lifecycle configuration on a bucket with MFA Delete is not supported",
      });
    putDocument(transaction, bucket.bucketId, "lifecycle", document);
    changeHasLifecycle(transaction, bucket, true);
  });
};

const getRules = async ({ app, access }: BucketContext): Promise<LifecycleRecord> => {
  const found = await app.store.read(async (reader) => {
    const { bucketId } = await access.bucket.in(reader);
    return findDocument(reader, bucketId, "lifecycle");
  });
  if (found === undefined)
    throw fault(ErrorReason.NO_SUCH_LIFECYCLE_CONFIGURATION, { bucket_name: access.bucket.name });
  return found;
};

const fromOlder = (rule: OlderLifecycleRule): LifecycleRule => {
  const { $typeName: _older, transition, noncurrentVersionTransition: noncurrent, ...others } = rule;
  return create(LifecycleRuleSchema, {
    ...others,
    transitions: transition === undefined ? [] : [transition],
    noncurrentVersionTransitions: noncurrent === undefined ? [] : [noncurrent],
  });
};

/** The older document has one prefix of a rule, and one class of each kind to move to. */
const toOlder = (rule: LifecycleRule) => {
  const { $typeName: _newer, filter, prefix, transitions, noncurrentVersionTransitions, ...others } = rule;
  const { $typeName: _filter, prefix: only, ...more } = filter ?? { $typeName: "" };
  if (Object.keys(more).length > 0 || transitions.length > 1 || noncurrentVersionTransitions.length > 1)
    throw invalidRequest("Filter element can only be used in Lifecycle V2.");
  const [transition] = transitions;
  const [noncurrentVersionTransition] = noncurrentVersionTransitions;
  return {
    ...others,
    prefix: prefix ?? only ?? "",
    ...(transition && { transition }),
    ...(noncurrentVersionTransition && { noncurrentVersionTransition }),
  };
};
