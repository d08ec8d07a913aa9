import type { KeyObject } from "node:crypto";
import { hkdfSync, randomBytes } from "node:crypto";

import { LRUCache } from "lru-cache";

import type { Clock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import type { KeyNames } from "./key-names.ts";
import type { MasterKey, MasterKeys } from "./master-keys.ts";
import { MasterKeysError, openMasterKeys } from "./master-keys.ts";
import type { SealContext } from "./sealed.ts";
import { SealBrokenError, sealKey, secretKey, unsealKey } from "./sealed.ts";

/**
 * Envelope encryption. Content is sealed with a data key of its own; the data key is stored next to it, wrapped under a
 * named key: an id, alias or ARN that the owner of the content chose, or the empty name for the installation's own.
 * Wrapping keys are derived from a master key and the named key's id and never stored. The wrapped form contains the
 * ids of its named key and master key, so nothing else need be stored, and an alias may name another key later.
 *
 * The declaration of a named key must allow its use at that moment; otherwise NamedKeyError.
 */
export interface Keyring {
  /** The id of the latest master key, with which data keys are wrapped. */
  masterKeyId(): string;
  /** True if there are older master keys, with which data keys may still be wrapped. */
  hasOlderMasterKeys(): boolean;
  /** Creates a data key of 32 bytes; opening it needs the same context. Throws NamedKeyError. */
  createDataKey(keyName: string, context: SealContext): DataKey;
  /** Wraps a data key that was not wrapped by the keyring until now. Throws NamedKeyError. */
  wrapDataKey(keyName: string, context: SealContext, key: KeyObject): Buffer;
  /**
   * Unwraps a data key. Throws NamedKeyError, SealBrokenError for another context or changed bytes, and
   * MasterKeyMissingError if its master key is missing.
   */
  openDataKey(context: SealContext, wrapped: Uint8Array): KeyObject;
  /** For callers that cache data keys: throws NamedKeyError if the named key of a wrapped one may not be used now. */
  assertUsable(wrapped: Uint8Array): void;
  /** True if the data key is wrapped under the key that currently has this name. Throws NamedKeyError for the name. */
  isWrappedUnder(wrapped: Uint8Array, keyName: string): boolean;
  /** The same data key, wrapped under another named key; both must be usable. Content need not be changed. */
  moveDataKey(context: SealContext, wrapped: Uint8Array, toKeyName: string): Buffer;
  /** True if the data key is not wrapped with the latest master key, so that `rewrap` is due. */
  isStale(wrapped: Uint8Array): boolean;
  /** The same data key under the same named key, in whatever state, wrapped with the latest master key. */
  rewrap(context: SealContext, wrapped: Uint8Array): Buffer;
}

interface DataKey {
  readonly key: KeyObject;
  readonly wrapped: Buffer;
}

/** Data was wrapped with a master key that this installation does not have. */
export class MasterKeyMissingError extends Error {
  override readonly name = "MasterKeyMissingError";

  constructor(masterKeyId: string) {
    super(`Master key ${masterKeyId}, which wraps this data, is not in the file of master keys.`);
  }
}

/**
 * Layout of a wrapped key: 1 byte format, 8 bytes id of the master key, 2 bytes length of the named key's id
 * (big-endian), that id in UTF-8, then the sealed data key. All before the seal is authenticated with it.
 */
const format = 1;
const masterIdBytes = 8;
const keyIdAt = 1 + masterIdBytes + 2;
const dataKeyBytes = 32;
const wrappingKeysMax = 1_000;

/** The keyring over given master keys. */
export const createKeyring = (masters: MasterKeys, names: KeyNames): Keyring => {
  const wrappingKeys = new LRUCache<string, KeyObject>({ max: wrappingKeysMax });

  const wrappingKey = ({ id, key }: MasterKey, keyId: string): KeyObject => {
    const name = `${id} ${keyId}`;
    const known = wrappingKeys.get(name);
    if (known !== undefined) return known;
    const derived = secretKey(
      new Uint8Array(hkdfSync("sha256", key, "", `quartet wrapping key ${keyId}`, dataKeyBytes)),
    );
    wrappingKeys.set(name, derived);
    return derived;
  };

  const wrap = (keyId: string, context: SealContext, key: KeyObject): Buffer => {
    const master = masters.latest();
    const header = headerOf(master.id, keyId);
    return Buffer.concat([header, sealKey(wrappingKey(master, keyId), [header, ...context], key)]);
  };

  const unwrap = (context: SealContext, wrapped: Uint8Array, parts: WrappedParts): KeyObject => {
    const master = masters.find(parts.masterId);
    if (master === undefined) throw new MasterKeyMissingError(parts.masterId);
    const header = wrapped.subarray(0, parts.sealedAt);
    return unsealKey(wrappingKey(master, parts.keyId), [header, ...context], wrapped.subarray(parts.sealedAt));
  };

  const openDataKey = (context: SealContext, wrapped: Uint8Array): KeyObject => {
    const parts = partsOfWrapped(wrapped);
    names.usableId(parts.keyId);
    return unwrap(context, wrapped, parts);
  };

  return {
    masterKeyId: () => masters.latest().id,
    hasOlderMasterKeys: () => masters.hasOlder(),
    createDataKey: (keyName, context) => {
      const key = secretKey(randomBytes(dataKeyBytes));
      return { key, wrapped: wrap(names.usableId(keyName), context, key) };
    },
    wrapDataKey: (keyName, context, key) => wrap(names.usableId(keyName), context, key),
    openDataKey,
    assertUsable: (wrapped) => void names.usableId(partsOfWrapped(wrapped).keyId),
    isWrappedUnder: (wrapped, keyName) => partsOfWrapped(wrapped).keyId === names.usableId(keyName),
    moveDataKey: (context, wrapped, toKeyName) =>
      wrap(names.usableId(toKeyName), context, openDataKey(context, wrapped)),
    isStale: (wrapped) => partsOfWrapped(wrapped).masterId !== masters.latest().id,
    rewrap: (context, wrapped) => {
      const parts = partsOfWrapped(wrapped);
      return wrap(parts.keyId, context, unwrap(context, wrapped, parts));
    },
  };
};

interface KeyringOptions {
  /** The file of master keys. */
  readonly path: string;
  readonly names: KeyNames;
  readonly clock: Clock;
  readonly log?: Logger;
  /** Any stored data key: with one, the file must exist and contain the master key that wraps it. */
  readonly sample: Uint8Array | undefined;
}

/** Opens a service's keyring. Throws MasterKeysError if the file is invalid, missing or of another installation. */
export const openKeyring = async ({ path, names, clock, log, sample }: KeyringOptions): Promise<Keyring> => {
  const masters = await openMasterKeys(path, { clock, isNeeded: sample !== undefined, ...(log && { log }) });
  const masterId = sample && findMasterId(sample);
  if (masterId !== undefined && masters.find(masterId) === undefined)
    throw new MasterKeysError(`${path} is not the one that stored data was encrypted with`);
  return createKeyring(masters, names);
};

/** The master key that wraps a key; undefined: it is damaged. */
const findMasterId = (wrapped: Uint8Array): string | undefined =>
  undefinedIfBroken(() => partsOfWrapped(wrapped).masterId);

/** As `openDataKey`; undefined: the wrapped key is damaged. */
export const openUndamaged = (
  keyring: Pick<Keyring, "openDataKey">,
  context: SealContext,
  wrapped: Uint8Array,
): KeyObject | undefined => undefinedIfBroken(() => keyring.openDataKey(context, wrapped));

const undefinedIfBroken = <T>(open: () => T): T | undefined => {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof SealBrokenError)) throw error;
    return undefined;
  }
};

interface WrappedParts {
  readonly masterId: string;
  readonly keyId: string;
  readonly sealedAt: number;
}

const headerOf = (masterId: string, keyId: string): Buffer => {
  const name = Buffer.from(keyId, "utf8");
  const header = Buffer.alloc(keyIdAt + name.length);
  header.writeUInt8(format, 0);
  header.write(masterId, 1, "hex");
  header.writeUInt16BE(name.length, 1 + masterIdBytes);
  header.set(name, keyIdAt);
  return header;
};

const partsOfWrapped = (wrapped: Uint8Array): WrappedParts => {
  const bytes = Buffer.from(wrapped.buffer, wrapped.byteOffset, wrapped.byteLength);
  if (bytes.length < keyIdAt || bytes.readUInt8(0) !== format) throw new SealBrokenError();
  const sealedAt = keyIdAt + bytes.readUInt16BE(1 + masterIdBytes);
  return {
    masterId: bytes.toString("hex", 1, 1 + masterIdBytes),
    keyId: bytes.toString("utf8", keyIdAt, sealedAt),
    sealedAt,
  };
};
