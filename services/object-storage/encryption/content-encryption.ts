import { createHmac } from "node:crypto";

import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  EncryptionRecord,
  EncryptionRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { arn, parseArn } from "../../kit/arn/arn.ts";
import { isLoopback } from "../../kit/config/loopback.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import type { KeyNames } from "../../kit/keyring/key-names.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import type { AuthorizedBucket, ManagedKeyUse } from "../access/access.ts";
import type { EncryptionMembers, ManagedEncryption, RequestedEncryption } from "../domain/encryption.ts";
import {
  contextParts,
  isSameEncryption,
  describeEncryption,
  planEncryption,
  readEncryption,
} from "../domain/encryption.ts";
import { fault, invalidArgument, invalidRequest } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import type { ContentKey } from "./content-key.ts";
import type { CustomerKey } from "./customer-key.ts";
import {
  contentKeyOf,
  customerKeyRecord,
  describeCustomerKey,
  isSameCustomerKey,
  readCustomerKey,
} from "./customer-key.ts";
import type { WrappingKeys } from "./wrapping-keys.ts";

/** The part of a call's context that encryption needs. */
export interface EncryptionContextOfCall {
  readonly app: {
    readonly wrappingKeys: WrappingKeys;
    readonly keyNames: KeyNames;
    readonly partition: string;
  };
  readonly caller: Caller;
}

/** The members of a request by which it asks for the encryption of what it stores. */
export type NewEncryptionMembers = EncryptionMembers & Parameters<typeof readCustomerKey>[0];

/** The encryption of content that is to be stored. */
export interface NewEncryption {
  readonly record: MessageInitShape<typeof EncryptionRecordSchema>;
  readonly contentKey: ContentKey;
  /** Undefined: the key is not the caller's. */
  readonly customerKey: CustomerKey | undefined;
}

/** The stored encryption of content, less what only protobuf needs. */
type StoredEncryption = Pick<EncryptionRecord, "kms" | "customerKey"> | undefined;

/**
 * The encryption of a new object or upload: what the request asks for, else the bucket's default. Checks, in order:
 *  1. a key of the caller, see `readCustomerKey`, and what else is asked for, see `readEncryption`;
 *  2. a key of the caller comes over TLS or from this machine (INVALID_REQUEST);
 *  3. the bucket does not block the kind of encryption (ACCESS_DENIED);
 *  4. with a managed key, the signature is not of version 2 without TLS (INVALID_ARGUMENT);
 *  5. the managed key exists and may be used (KMS_KEY_NOT_FOUND, KMS_KEY_DISABLED, KMS_KEY_PENDING_DELETION);
 *  6. the caller may use the managed key for each of the actions (ACCESS_DENIED).
 */
export const openNewEncryption = async (
  { app, caller }: EncryptionContextOfCall,
  access: AuthorizedBucket,
  request: NewEncryptionMembers & { readonly key: string },
  actions: readonly ManagedKeyUse["action"][] = ["kms:GenerateDataKey"],
): Promise<NewEncryption> => {
  const customerKey = readCustomerKey(request);
  const requested = readEncryption(request, customerKey !== undefined);
  const bucket = access.known;
  if (customerKey !== undefined) {
    checkTransport(caller);
    if (bucket.defaultEncryption?.blockedTypes.includes("SSE-C") === true) throw access.blockedEncryption(request.key);
    return {
      record: { customerKey: customerKeyRecord(customerKey) },
      contentKey: { key: contentKeyOf(customerKey), context: [] },
      customerKey,
    };
  }
  const planned = planEncryption(requested, bucket.defaultEncryption);
  if (planned.kind === "service")
    return { record: {}, contentKey: { ...(await app.wrappingKeys.ofService()), context: [] }, customerKey };
  checkSignature(caller);
  const kms = managedRecord(app, bucket, planned);
  for (const action of actions) access.checkManagedKey(managedUse(action, kms));
  return { record: { kms }, contentKey: await managedContentKey(app, kms), customerKey };
};

/**
 * The encryption of a replica: under the named managed key if the version is under one, else under the service's.
 * Throws NamedKeyError.
 */
export const replicaEncryption = async (
  app: EncryptionContextOfCall["app"],
  bucket: Bucket,
  encryption: StoredEncryption,
  keyName: string | undefined,
): Promise<NewEncryption> => {
  const { kms: before } = encryption ?? {};
  if (before === undefined)
    return { record: {}, contentKey: { ...(await app.wrappingKeys.ofService()), context: [] }, customerKey: undefined };
  const { context, isBucketKeyEnabled, isDualLayer } = before;
  const kms = managedRecord(app, bucket, { kind: "managed", keyName, context, isBucketKeyEnabled, isDualLayer });
  return { record: { kms }, contentKey: await managedContentKey(app, kms), customerKey: undefined };
};

/**
 * Checks the key of the caller with which stored content is read. Throws INVALID_REQUEST if it is needed and missing or
 * given and not needed, and ACCESS_DENIED if it is another one.
 */
export const checkCustomerKey = (
  { caller }: Pick<EncryptionContextOfCall, "caller">,
  access: Pick<AuthorizedBucket, "wrongCustomerKey">,
  key: string,
  encryption: StoredEncryption,
  customerKey: CustomerKey | undefined,
): void => {
  const stored = encryption?.customerKey;
  if (stored === undefined && customerKey === undefined) return;
  if (customerKey === undefined)
    throw invalidRequest(
      "The object was stored using a form of Server Side Encryption. The correct parameters must be provided to " +
        "retrieve the object.",
    );
  if (stored === undefined) throw invalidRequest("The encryption parameters are not applicable to this object.");
  checkTransport(caller);
  if (!isSameCustomerKey(stored, customerKey)) throw access.wrongCustomerKey(key);
};

/**
 * Checks that the caller may decrypt content that is encrypted under a managed key. Throws INVALID_ARGUMENT for a
 * signature of version 2 without TLS, and ACCESS_DENIED.
 */
export const checkDecryption = (
  { caller }: Pick<EncryptionContextOfCall, "caller">,
  access: Pick<AuthorizedBucket, "checkManagedKey">,
  encryption: StoredEncryption,
): void => {
  const kms = encryption?.kms;
  if (kms === undefined) return;
  checkSignature(caller);
  access.checkManagedKey(managedUse("kms:Decrypt", kms));
};

/**
 * The encryption of a part: that of its upload, of which the request must repeat the caller's key. Throws
 * INVALID_REQUEST for another one or none, and the refusals of `checkDecryption` and NamedKeyError.
 */
export const openPartEncryption = async (
  context: EncryptionContextOfCall,
  access: AuthorizedBucket,
  encryption: StoredEncryption,
  customerKey: CustomerKey | undefined,
): Promise<NewEncryption> => {
  checkUploadKey(context, encryption, customerKey);
  checkDecryption(context, access, encryption);
  const record = encryption === undefined ? {} : { kms: encryption.kms, customerKey: encryption.customerKey };
  return { record, contentKey: await openContentKey(context.app, encryption, customerKey), customerKey };
};

/**
 * The encryption of content that is appended to an object: the object's. Checks, in order:
 *  1. a key of the caller, see `readCustomerKey`, and what else is asked for, see `readEncryption`;
 *  2. what is asked for is what the object has (ENCRYPTION_TYPE_MISMATCH);
 *  3. a key of the caller comes over TLS or from this machine, and is the object's, see `checkCustomerKey`;
 *  4. the bucket does not block the kind of encryption (ACCESS_DENIED);
 *  5. the caller may use the managed key to read and to write (ACCESS_DENIED), and it may be used.
 */
export const openAppendedEncryption = async (
  context: EncryptionContextOfCall,
  access: AuthorizedBucket,
  request: NewEncryptionMembers & { readonly key: string },
  stored: EncryptionRecord | undefined,
): Promise<NewEncryption> => {
  const customerKey = readCustomerKey(request);
  const requested = readEncryption(request, customerKey !== undefined);
  if ((customerKey === undefined) !== (stored?.customerKey === undefined)) throw otherEncryption();
  checkRequested(context.app, access.known, requested, stored);
  checkCustomerKey(context, access, request.key, stored, customerKey);
  const blocked = access.known.defaultEncryption?.blockedTypes ?? [];
  if (customerKey !== undefined && blocked.includes("SSE-C")) throw access.blockedEncryption(request.key);
  checkDecryption(context, access, stored);
  if (stored?.kms !== undefined) access.checkManagedKey(managedUse("kms:GenerateDataKey", stored.kms));
  return { record: stored ?? {}, contentKey: await openContentKey(context.app, stored, customerKey), customerKey };
};

/** Throws ENCRYPTION_TYPE_MISMATCH if a request asks for another encryption than what is stored has. */
const checkRequested = (
  app: EncryptionContextOfCall["app"],
  bucket: Bucket,
  { isBucketKeyEnabled, ...requested }: RequestedEncryption,
  stored: EncryptionRecord | undefined,
): void => {
  const { kms } = stored ?? {};
  if (isBucketKeyEnabled !== undefined && isBucketKeyEnabled !== (kms?.isBucketKeyEnabled ?? false))
    throw otherEncryption();
  if (requested.algorithm === undefined) return;
  const planned = planEncryption({ ...requested, isBucketKeyEnabled }, undefined);
  if (planned.kind === "service" ? kms !== undefined : kms === undefined) throw otherEncryption();
  if (planned.kind === "service") return;
  if (!isSameEncryption({ kms: managedRecord(app, bucket, planned) }, stored)) throw otherEncryption();
};

const otherEncryption = () => fault(ErrorReason.ENCRYPTION_TYPE_MISMATCH);

/** Throws INVALID_REQUEST unless a request repeats the caller's key of an upload. */
const checkUploadKey = (
  { caller }: Pick<EncryptionContextOfCall, "caller">,
  encryption: StoredEncryption,
  customerKey: CustomerKey | undefined,
): void => {
  const stored = encryption?.customerKey;
  if (stored === undefined && customerKey === undefined) return;
  if (stored === undefined)
    throw invalidRequest(
      "The multipart upload initiate did not request encryption. Please resend the request without sending encryption " +
        "parameters.",
    );
  if (customerKey === undefined)
    throw invalidRequest(
      "The multipart upload initiate requested encryption. Subsequent part requests must include the appropriate " +
        "encryption parameters.",
    );
  checkTransport(caller);
  if (!isSameCustomerKey(stored, customerKey))
    throw invalidRequest("The provided encryption parameters did not match the ones used originally.");
};

/** The same for a request that may leave the caller's key out. */
export const checkRepeatedKey = (
  context: Pick<EncryptionContextOfCall, "caller">,
  encryption: StoredEncryption,
  customerKey: CustomerKey | undefined,
): void => {
  if (customerKey !== undefined) checkUploadKey(context, encryption, customerKey);
};

/** Whether stored content is already encrypted as new content is to be. */
export const isUnderSameKey = (stored: StoredEncryption, { record, customerKey }: NewEncryption): boolean =>
  stored?.customerKey === undefined
    ? customerKey === undefined && isSameEncryption(stored, record)
    : customerKey !== undefined && isSameCustomerKey(stored.customerKey, customerKey);

/**
 * The key of stored content, with the caller's key if it is that. What was stored before content was encrypted has
 * blobs without a data key, and may have later ones under the service's. Throws NamedKeyError if the managed key may
 * not be used now.
 */
export const openContentKey = async (
  { wrappingKeys, keyNames }: EncryptionContextOfCall["app"],
  encryption: StoredEncryption,
  customerKey: CustomerKey | undefined,
): Promise<ContentKey> => {
  if (encryption?.kms !== undefined) return managedContentKey({ wrappingKeys, keyNames }, encryption.kms);
  if (encryption?.customerKey === undefined) return { ...(await wrappingKeys.ofService()), context: [] };
  if (customerKey === undefined) throw new Error("content under a key of the caller is opened without it");
  return { key: contentKeyOf(customerKey), context: [] };
};

/**
 * What content is recognized by in ETags: its MD5 digest, or 16 bytes that only the key connects with it where the key
 * is not the service's own, because the digest would let whoever has no key confirm a guess of the content.
 */
export const contentDigest = ({ record, contentKey }: NewEncryption, md5: Uint8Array): Buffer =>
  record.kms === undefined && record.customerKey === undefined
    ? Buffer.from(md5)
    : createHmac("sha256", contentKey.key)
        .update("quartet content digest")
        .update(md5)
        .digest()
        .subarray(0, md5.length);

/** The members of an answer that show the encryption of what was stored. */
export const describeNewEncryption = ({ record, customerKey }: NewEncryption) => ({
  ...describeEncryption(record),
  ...describeCustomerKey({ sseCustomerKeyMd5: customerKey?.md5 }),
});

type KmsRecord = {
  readonly keyArn: string;
  readonly context: Readonly<Record<string, string>>;
};

const managedContentKey = async (
  { wrappingKeys }: Pick<EncryptionContextOfCall["app"], "wrappingKeys" | "keyNames">,
  { keyArn, context }: KmsRecord,
): Promise<ContentKey> => ({
  ...(await wrappingKeys.ofManaged(isServicesKey(keyArn) ? undefined : keyArn)),
  context: contextParts(context),
});

const managedRecord = (app: EncryptionContextOfCall["app"], bucket: Bucket, planned: ManagedEncryption) => {
  const { keyName, context, isBucketKeyEnabled, isDualLayer } = planned;
  return { keyArn: keyArnOf(app, bucket, keyName), context: { ...context }, isBucketKeyEnabled, isDualLayer };
};

/** The ARN of the key that a name means, which no alias can change later. Throws NamedKeyError. */
export const keyArnOf = (
  { keyNames, partition }: Pick<EncryptionContextOfCall["app"], "keyNames" | "partition">,
  bucket: Bucket,
  keyName = "",
): string => {
  const { region, accountId: account } = bucket;
  const place = { partition, service: "kms", region, account };
  if (keyName === "" || isServicesKey(keyName)) return arn({ ...place, resource: "alias/aws/s3" });
  if (!keyNameShape.test(keyName)) throw new NamedKeyError("NOT_FOUND", keyName.slice(0, keyNameLengthMax));
  const id = keyNames.usableId(keyName);
  const named = parseArn(keyName);
  const own = named?.service === "kms" ? { region: named.region, account: named.account } : {};
  return arn({ ...place, ...own, resource: id.startsWith("alias/") ? id : `key/${id}` });
};

const keyNameLengthMax = 2048;
const keyNameShape = new RegExp(`^[\\w:/+=,.@-]{1,${keyNameLengthMax}}$`);

/** Whether a name or ARN is that of the service's own managed key. */
const isServicesKey = (name: string): boolean => servicesKeys.has(parseArn(name)?.resource ?? name);

const servicesKeys: ReadonlySet<string> = new Set(["alias/aws/s3", "alias/svc/object-storage"]);

const managedUse = (action: ManagedKeyUse["action"], { keyArn, context }: KmsRecord): ManagedKeyUse => ({
  action,
  keyArn,
  isOwnedByService: isServicesKey(keyArn),
  context,
});

/** Keys of callers must not cross a network in clear. */
const checkTransport = ({ isSecureTransport, sourceIp }: Caller): void => {
  if (isSecureTransport !== false || (sourceIp !== undefined && isLoopback(sourceIp))) return;
  throw invalidRequest(
    "Requests specifying Server Side Encryption with Customer provided keys must be made over a secure connection.",
  );
};

const checkSignature = ({ signatureVersion, isSecureTransport }: Caller): void => {
  if (signatureVersion !== "AWS" || isSecureTransport !== false) return;
  throw invalidArgument(
    "Authorization",
    "null",
    "Requests specifying Server Side Encryption with managed keys require Signature Version 4.",
  );
};
