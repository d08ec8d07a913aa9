import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  DefaultEncryptionRecord,
  EncryptionRecordSchema,
} from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import { parseJson } from "../../kit/json/parse-json.ts";
import { invalidArgument } from "../faults.ts";
import { limits } from "../limits.ts";

/** The members by which a request asks for the encryption of what it stores. Undefined ones were not given. */
export interface EncryptionMembers {
  readonly serverSideEncryption?: ServerSideEncryption;
  readonly sseKmsKeyId?: string;
  readonly sseKmsEncryptionContext?: string;
  readonly bucketKeyEnabled?: boolean;
}

/** Text pairs that are bound to what is encrypted. */
export type EncryptionContext = Readonly<Record<string, string>>;

/** Encryption under a managed key, as a request or a bucket names it. */
export interface ManagedEncryption {
  readonly kind: "managed";
  /** Undefined: the service's own managed key. */
  readonly keyName: string | undefined;
  readonly context: EncryptionContext;
  readonly isBucketKeyEnabled: boolean;
  readonly isDualLayer: boolean;
}

/** The encryption of what is stored, but for keys of the caller. */
export type PlannedEncryption = { readonly kind: "service" } | ManagedEncryption;

/** What a request asks for; what it leaves out is up to the bucket. */
export interface RequestedEncryption {
  readonly algorithm: "service" | "managed" | undefined;
  readonly isDualLayer: boolean;
  readonly keyName: string | undefined;
  readonly context: EncryptionContext;
  readonly isBucketKeyEnabled: boolean | undefined;
}

const { AES256, KMS, KMS_DSSE, UNSPECIFIED } = ServerSideEncryption;
const header = "x-svc-server-side-encryption";
const keyHeader = "x-svc-server-side-encryption-svc-kms-key-id";

/**
 * The encryption that a request asks for. Checks, in order, each with INVALID_ARGUMENT:
 *  1. a key of the caller comes with no other encryption;
 *  2. a managed key and a context come with that algorithm;
 *  3. the context is base64 of a JSON object of texts.
 */
export const readEncryption = (request: EncryptionMembers, hasCustomerKey: boolean): RequestedEncryption => {
  const { serverSideEncryption: algorithm = UNSPECIFIED, sseKmsKeyId, sseKmsEncryptionContext } = request;
  const isManaged = algorithm === KMS || algorithm === KMS_DSSE;
  const asksForManaged = sseKmsKeyId !== undefined || sseKmsEncryptionContext !== undefined;
  if (hasCustomerKey && (algorithm !== UNSPECIFIED || asksForManaged))
    throw invalidArgument(
      header,
      "null",
      "Server Side Encryption with Customer provided key is incompatible with the encryption method specified",
    );
  if (asksForManaged && !isManaged)
    throw invalidArgument(
      header,
      algorithm === AES256 ? "AES256" : "null",
      "Server Side Encryption with a managed key requires the HTTP header x-svc-server-side-encryption: svc:kms",
    );
  return {
    algorithm: isManaged ? "managed" : algorithm === AES256 ? "service" : undefined,
    isDualLayer: algorithm === KMS_DSSE,
    keyName: sseKmsKeyId || undefined,
    context: sseKmsEncryptionContext === undefined ? {} : readContext(sseKmsEncryptionContext),
    isBucketKeyEnabled: request.bucketKeyEnabled,
  };
};

/** Throws INVALID_ARGUMENT for a read that names an encryption: how content is decrypted is stored with it. */
export const refuseEncryption = (request: {
  readonly serverSideEncryption?: string;
  readonly sseKmsKeyId?: string;
}): void => {
  const { serverSideEncryption, sseKmsKeyId } = request;
  if (serverSideEncryption !== undefined)
    throw invalidArgument(header, serverSideEncryption, `${header} header is not supported for this operation.`);
  if (sseKmsKeyId !== undefined)
    throw invalidArgument(keyHeader, sseKmsKeyId, `${keyHeader} header is not supported for this operation.`);
};

/** The encryption of an object: what the request asks for, else the bucket's default. */
export const planEncryption = (
  { algorithm, keyName, context, isDualLayer, ...requested }: RequestedEncryption,
  bucket: DefaultEncryptionRecord | undefined,
): PlannedEncryption => {
  const isBucketKeyEnabled = requested.isBucketKeyEnabled ?? bucket?.isBucketKeyEnabled ?? false;
  if (algorithm === "service") return { kind: "service" };
  if (algorithm === "managed") return { kind: "managed", keyName, context, isBucketKeyEnabled, isDualLayer };
  if (bucket?.isKms !== true) return { kind: "service" };
  return {
    kind: "managed",
    keyName: bucket.keyName || undefined,
    context: {},
    isBucketKeyEnabled,
    isDualLayer: bucket.isDualLayer,
  };
};

/** Whether a request says anything about encryption. */
export const asksForEncryption = (request: EncryptionMembers & { readonly sseCustomerAlgorithm?: string }): boolean =>
  (request.serverSideEncryption ?? UNSPECIFIED) !== UNSPECIFIED ||
  request.sseKmsKeyId !== undefined ||
  request.bucketKeyEnabled !== undefined ||
  request.sseCustomerAlgorithm !== undefined;

/** Whether content under the one encryption has the same keys as under the other, keys of callers aside. */
export const isSameEncryption = (
  one: MessageInitShape<typeof EncryptionRecordSchema> | undefined,
  other: MessageInitShape<typeof EncryptionRecordSchema> | undefined,
): boolean => {
  if (one === undefined || other === undefined) return false;
  const [first, second] = [one.kms, other.kms];
  if (first === undefined || second === undefined) return first === second;
  return (
    first.keyArn === second.keyArn &&
    first.isDualLayer === second.isDualLayer &&
    JSON.stringify(contextParts(first.context)) === JSON.stringify(contextParts(second.context))
  );
};

/** A context in an order that does not depend on how it was written. */
export const contextParts = (context: EncryptionContext | undefined): string[] =>
  Object.entries(context ?? {})
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flat();

/** The members of an answer that show the encryption of an object. Keys of callers are shown by who has them. */
export const describeEncryption = (encryption: MessageInitShape<typeof EncryptionRecordSchema> | undefined) => {
  if (encryption === undefined || encryption.customerKey !== undefined) return {};
  const { kms } = encryption;
  if (kms === undefined) return { serverSideEncryption: AES256 };
  return {
    serverSideEncryption: kms.isDualLayer === true ? KMS_DSSE : KMS,
    sseKmsKeyId: kms.keyArn,
    bucketKeyEnabled: kms.isBucketKeyEnabled === true ? true : undefined,
  };
};

/** The member of an answer that shows the context; only answers of writes have it. */
export const describeContext = (encryption: MessageInitShape<typeof EncryptionRecordSchema>) => {
  const context = encryption.kms?.context ?? {};
  if (Object.keys(context).length === 0) return {};
  return { sseKmsEncryptionContext: Buffer.from(JSON.stringify(context)).toString("base64") };
};

const readContext = (text: string): EncryptionContext => {
  const bytes = Buffer.from(text, "base64");
  const parsed =
    text.length > limits.encryptionContextCharactersMax || bytes.toString("base64") !== text
      ? undefined
      : contextOf(bytes.toString("utf8"));
  if (parsed === undefined)
    throw invalidArgument(
      `${header}-context`,
      text.slice(0, limits.encryptionContextCharactersMax),
      "The encryption context must be base64 of UTF-8 JSON that is a map of texts to texts.",
    );
  return parsed;
};

const contextOf = (json: string): EncryptionContext | undefined => {
  try {
    const value: unknown = parseJson(json);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    if (Object.hasOwn(value, "__proto__")) return undefined;
    return Object.values(value).every((each) => typeof each === "string") ? (value as EncryptionContext) : undefined;
  } catch {
    return undefined;
  }
};
