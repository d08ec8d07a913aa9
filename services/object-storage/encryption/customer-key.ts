import type { KeyObject } from "node:crypto";
import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";

import type { CustomerKeyRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { secretKey } from "../../kit/keyring/sealed.ts";
import { fault, invalidArgument } from "../faults.ts";

/** A key that the caller sent: it is used for one call and never stored or logged. */
export interface CustomerKey {
  readonly key: KeyObject;
  /** The digest as the caller sent it, which answers repeat. */
  readonly md5: string;
}

/** The members of a request that hold a key of the caller. */
interface CustomerKeyMembers {
  readonly algorithm: string | undefined;
  readonly key: string | undefined;
  readonly md5: string | undefined;
}

/** The only algorithm, as requests name it. */
const customerAlgorithm = "AES256";
const keyBytes = 32;
const saltBytes = 16;
const headerOfNew = "x-svc-server-side-encryption-customer";
const headerOfSource = "x-svc-copy-source-server-side-encryption-customer";

/**
 * The key that a request holds for its own object; undefined: it holds none. Checks, in order:
 *  1. the algorithm is named (INVALID_ARGUMENT) and AES256 (INVALID_ENCRYPTION_ALGORITHM);
 *  2. there are a key and its digest (INVALID_ARGUMENT);
 *  3. the key has 32 bytes (INVALID_ARGUMENT);
 *  4. the digest is the key's (INVALID_ARGUMENT).
 */
export const readCustomerKey = (request: {
  readonly sseCustomerAlgorithm?: string;
  readonly sseCustomerKey?: string;
  readonly sseCustomerKeyMd5?: string;
}): CustomerKey | undefined =>
  readKey(headerOfNew, {
    algorithm: request.sseCustomerAlgorithm,
    key: request.sseCustomerKey,
    md5: request.sseCustomerKeyMd5,
  });

/** The key that a copy holds for its source, checked as `readCustomerKey` does. */
export const readSourceCustomerKey = (request: {
  readonly copySourceSseCustomerAlgorithm?: string;
  readonly copySourceSseCustomerKey?: string;
  readonly copySourceSseCustomerKeyMd5?: string;
}): CustomerKey | undefined =>
  readKey(headerOfSource, {
    algorithm: request.copySourceSseCustomerAlgorithm,
    key: request.copySourceSseCustomerKey,
    md5: request.copySourceSseCustomerKeyMd5,
  });

const readKey = (header: string, { algorithm, key, md5 }: CustomerKeyMembers): CustomerKey | undefined => {
  if (algorithm === undefined && key === undefined && md5 === undefined) return undefined;
  const refuse = (suffix: string, explanation: string) => invalidArgument(`${header}-${suffix}`, "null", explanation);
  if (algorithm === undefined || algorithm === "")
    throw refuse("algorithm", `${beginning} must provide a valid encryption algorithm.`);
  if (algorithm !== customerAlgorithm)
    throw fault(ErrorReason.INVALID_ENCRYPTION_ALGORITHM, {
      argument_name: `${header}-algorithm`,
      argument_value: algorithm,
    });
  if (key === undefined || key === "") throw refuse("key", `${beginning} must provide an appropriate secret key.`);
  if (md5 === undefined || md5 === "")
    throw refuse("key-MD5", `${beginning} must provide the client calculated MD5 of the secret key.`);
  const bytes = Buffer.from(key, "base64");
  if (bytes.length !== keyBytes || bytes.toString("base64") !== key)
    throw refuse("key", "The secret key was invalid for the specified algorithm.");
  const expected = createHash("md5").update(bytes).digest();
  const given = Buffer.from(md5, "base64");
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw refuse("key-MD5", "The calculated MD5 hash of the key did not match the hash that was provided.");
  return { key: secretKey(bytes), md5 };
};

const beginning = "Requests specifying Server Side Encryption with Customer provided keys";

/** What is stored to recognize the key: it does not help to find the key. */
export const customerKeyRecord = ({ key }: CustomerKey): Pick<CustomerKeyRecord, "salt" | "digest"> => {
  const salt = randomBytes(saltBytes);
  return { salt, digest: digestOf(key, salt) };
};

/** Whether it is the key that the record was made of; takes as long for every key. */
export const isSameCustomerKey = (
  { salt, digest }: Pick<CustomerKeyRecord, "salt" | "digest">,
  { key }: CustomerKey,
): boolean => timingSafeEqual(digestOf(key, salt), digest);

/** The key that data keys of blobs are sealed under. */
export const contentKeyOf = ({ key }: CustomerKey): KeyObject =>
  secretKey(new Uint8Array(hkdfSync("sha256", key, "", "quartet customer key", keyBytes)));

const digestOf = (key: KeyObject, salt: Uint8Array): Buffer =>
  createHmac("sha256", key).update("quartet customer key digest").update(salt).digest();

/** The members of an answer that repeat which key the caller sent. */
export const describeCustomerKey = ({ sseCustomerKeyMd5 }: { readonly sseCustomerKeyMd5?: string }) =>
  sseCustomerKeyMd5 === undefined ? {} : { sseCustomerAlgorithm: customerAlgorithm, sseCustomerKeyMd5 };
