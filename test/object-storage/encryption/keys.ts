import { createHash } from "node:crypto";

import type { NamedKey } from "../../../services/kit/keyring/key-names.ts";
import { declaredKeyNames } from "../../../services/kit/keyring/key-names.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { startWithBucket } from "../harness.ts";

export const cat = { bucket: "photos", key: "cat.jpg" };

/** The members with a key of the caller: 32 equal bytes. */
export const ownKey = (byte: number) => {
  const key = Buffer.alloc(32, byte);
  return {
    sseCustomerAlgorithm: "AES256",
    sseCustomerKey: key.toString("base64"),
    sseCustomerKeyMd5: createHash("md5").update(key).digest("base64"),
  };
};

/** The same members for the source of a copy. */
export const sourceKey = (byte: number) => {
  const { sseCustomerAlgorithm, sseCustomerKey, sseCustomerKeyMd5 } = ownKey(byte);
  return {
    copySourceSseCustomerAlgorithm: sseCustomerAlgorithm,
    copySourceSseCustomerKey: sseCustomerKey,
    copySourceSseCustomerKeyMd5: sseCustomerKeyMd5,
  };
};

/** An encryption context as requests write it. */
export const contextOf = (context: object): string => Buffer.from(JSON.stringify(context)).toString("base64");

/** A service with a bucket, whose declared keys can be changed. */
export const startWithKeys = async (
  options: HarnessOptions = {},
): Promise<{ readonly harness: Harness; readonly keys: { now: NamedKey[] } }> => {
  const keys: { now: NamedKey[] } = {
    now: [
      { id: "crm", aliases: ["alias/crm"], state: "ENABLED" },
      { id: "old", aliases: [], state: "DISABLED" },
      { id: "gone", aliases: [], state: "PENDING_DELETION" },
    ],
  };
  const keyNames = { usableId: (name: string) => declaredKeyNames(keys.now).usableId(name) };
  return { harness: await startWithBucket({ ...options, keyNames }), keys };
};
