import type { DomainRecord, DomainRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { MessageInitShape } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Entry, Reader, Transaction } from "../../kit/store/transaction.ts";
import { expiryOf } from "../domain/expiry.ts";
import type { DomainKeyring, DomainKeys } from "../encryption/domain-keys.ts";
import { fault } from "../faults.ts";
import { domainKeys, domains, erasedKeys } from "./layout.ts";

/** The identifier and the keys of a domain: enough to read and write its data. */
export interface DomainData {
  readonly id: Uint8Array;
  readonly keys: DomainKeys;
}

/** A domain with its settings, which must not be changed, and its keys. */
export interface OpenDomain extends DomainData {
  readonly record: Readonly<DomainRecord>;
}

/** The record of an account's domain; undefined if it does not exist. */
export const findDomain = (reader: Reader, accountId: string, domainName: string): Promise<DomainRecord | undefined> =>
  reader.get(domains, [accountId, domainName]);

/** The record of an account's domain. Throws DOMAIN_NOT_FOUND. */
export const getDomain = async (reader: Reader, accountId: string, domainName: string): Promise<DomainRecord> =>
  (await findDomain(reader, accountId, domainName)) ?? refuseDomain(domainName);

const refuseDomain = (domainName: string): never => {
  throw fault(ErrorReason.DOMAIN_NOT_FOUND, { domain_name: domainName });
};

/** An account's domain with its keys. Throws DOMAIN_NOT_FOUND, and NamedKeyError while its keys cannot be used. */
export const openDomain = async (
  reader: Reader,
  keyring: DomainKeyring,
  accountId: string,
  domainName: string,
): Promise<OpenDomain> => {
  const record = (await reader.getShared(domains, [accountId, domainName])) ?? refuseDomain(domainName);
  const data = await findDomainData(reader, keyring, record.domainId);
  if (data === undefined) throw fault(ErrorReason.DATA_LOSS);
  return { ...data, record };
};

/** The data of a domain by its identifier; undefined if the domain was deleted. Throws NamedKeyError. */
export const findDomainData = async (
  reader: Reader,
  keyring: DomainKeyring,
  domainId: Uint8Array,
): Promise<DomainData | undefined> => {
  const wrapped = await reader.getShared(domainKeys, [domainId]);
  return wrapped === undefined ? undefined : { id: domainId, keys: keyring.openDomain(domainId, wrapped.key) };
};

/** When data that is stored in a domain now expires, in milliseconds, unless an object type says otherwise. */
export const expiryIn = (domain: OpenDomain, nowMs: number): number =>
  expiryOf(nowMs, domain.record.defaultExpirationDays);

/** The first domains of an account by name, after the given one. */
export const listDomains = (
  reader: Reader,
  accountId: string,
  afterName: string | undefined,
  limit: number,
): Promise<Entry<readonly [string, string], DomainRecord>[]> =>
  reader.list(domains, {
    prefix: [accountId],
    after: afterName === undefined ? undefined : [accountId, afterName],
    limit,
  });

/** Stores a new domain together with its key. Throws NamedKeyError. */
export const createDomain = (
  transaction: Transaction,
  keyring: DomainKeyring,
  accountId: string,
  domainName: string,
  record: MessageInitShape<typeof DomainRecordSchema> & { readonly domainId: Uint8Array },
): void => {
  transaction.put(domains, [accountId, domainName], record);
  transaction.put(domainKeys, [record.domainId], {
    key: keyring.wrapNewDomainKey(record.domainId, record.defaultEncryptionKey ?? ""),
  });
};

/** Stores changed settings. */
export const replaceDomain = (
  transaction: Transaction,
  accountId: string,
  domainName: string,
  record: DomainRecord,
): void => transaction.put(domains, [accountId, domainName], record);

/** Wraps a domain's key under the named key, unless it already is. Throws NamedKeyError. */
export const moveDomainKey = async (
  transaction: Transaction,
  keyring: DomainKeyring,
  domainId: Uint8Array,
  keyName: string,
): Promise<void> => {
  const wrapped = await transaction.get(domainKeys, [domainId]);
  if (wrapped === undefined) throw fault(ErrorReason.DATA_LOSS);
  const moved = keyring.moveDomainKey(domainId, wrapped.key, keyName);
  if (moved !== wrapped.key) transaction.put(domainKeys, [domainId], { key: moved });
};

/** Deletes a domain's record and key. From then on its data cannot be found or read, though it is still stored. */
export const deleteDomain = (
  transaction: Transaction,
  accountId: string,
  domainName: string,
  domainId: Uint8Array,
): void => {
  transaction.delete(domains, [accountId, domainName]);
  transaction.delete(domainKeys, [domainId]);
  transaction.put(erasedKeys, [domainId, new Uint8Array()], {});
};
