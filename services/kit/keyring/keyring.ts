import { hkdfSync, randomBytes } from "node:crypto";

import { LRUCache } from "lru-cache";

import type { MasterKeys } from "./master-keys.ts";
import { seal, SealBrokenError, unseal } from "./sealed.ts";

/**
 * Envelope encryption. Content is sealed with a data key of its own; the data key is kept beside it, wrapped by a
 * wrapping key that belongs to a key id, a name or ARN that the owner of the content chose. Wrapping keys are derived
 * from the master key and never stored, so a data key opens only under the key id that it was wrapped for.
 */
export interface Keyring {
  /** A new data key of 32 bytes and its wrapped form, which may be stored in clear. The context must be the same when it is opened. */
  createDataKey(keyId: string, context: readonly string[]): DataKey;
  /** The data key. Throws SealBrokenError for another key id, another context or changed bytes, MasterKeyMissingError when its master key has gone. */
  openDataKey(keyId: string, context: readonly string[], wrapped: Uint8Array): Buffer;
  /** Whether a newer master key has come since the data key was wrapped, so that `rewrap` is due. */
  isStale(wrapped: Uint8Array): boolean;
  /** The same data key, wrapped by the latest master key and for the key id `toKeyId`. Content need not be touched. */
  rewrap(keyId: string, context: readonly string[], wrapped: Uint8Array, toKeyId?: string): Buffer;
}

export interface DataKey {
  readonly key: Buffer;
  readonly wrapped: Buffer;
}

/** Data was wrapped by a master key that this installation does not have. */
export class MasterKeyMissingError extends Error {
  override readonly name = "MasterKeyMissingError";

  constructor(version: number) {
    super(`Master key ${version}, which wraps this data, is not in the file of master keys.`);
  }
}

/** Layout of a wrapped key: 1 byte format, 4 bytes version of the master key (big-endian), then the sealed data key. */
const format = 1;
const headerBytes = 5;
const dataKeyBytes = 32;
const wrappingKeysMax = 1_000;

export const createKeyring = (masters: MasterKeys): Keyring => {
  const wrappingKeys = new LRUCache<string, Buffer>({ max: wrappingKeysMax });

  const wrappingKey = (version: number, keyId: string): Buffer => {
    const name = `${version} ${keyId}`;
    const known = wrappingKeys.get(name);
    if (known !== undefined) return known;
    const master = masters.find(version);
    if (master === undefined) throw new MasterKeyMissingError(version);
    const derived = Buffer.from(hkdfSync("sha256", master, "", `quartet wrapping key ${keyId}`, dataKeyBytes));
    wrappingKeys.set(name, derived);
    return derived;
  };

  const wrap = (keyId: string, context: readonly string[], key: Uint8Array): Buffer => {
    const header = Buffer.alloc(headerBytes);
    header.writeUInt8(format, 0);
    header.writeUInt32BE(masters.latest, 1);
    return Buffer.concat([header, seal(wrappingKey(masters.latest, keyId), context, key)]);
  };

  const openDataKey = (keyId: string, context: readonly string[], wrapped: Uint8Array): Buffer =>
    unseal(wrappingKey(versionOf(wrapped), keyId), context, wrapped.subarray(headerBytes));

  return {
    createDataKey: (keyId, context) => {
      const key = randomBytes(dataKeyBytes);
      return { key, wrapped: wrap(keyId, context, key) };
    },
    openDataKey,
    isStale: (wrapped) => versionOf(wrapped) !== masters.latest,
    rewrap: (keyId, context, wrapped, toKeyId = keyId) => wrap(toKeyId, context, openDataKey(keyId, context, wrapped)),
  };
};

const versionOf = (wrapped: Uint8Array): number => {
  const view = new DataView(wrapped.buffer, wrapped.byteOffset, wrapped.byteLength);
  if (wrapped.byteLength < headerBytes || view.getUint8(0) !== format) throw new SealBrokenError();
  return view.getUint32(1);
};
