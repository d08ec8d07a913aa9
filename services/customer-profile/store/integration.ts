import type { MessageInitShape } from "@bufbuild/protobuf";

import type { IntegrationRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { IntegrationRecordSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Entry, Reader, Transaction } from "../../kit/store/transaction.ts";
import { fault } from "../faults.ts";
import { integrations, integrationsByAddress } from "./layout.ts";

/** A domain's integration; undefined if it does not exist. */
export const findIntegration = (
  reader: Reader,
  domainId: Uint8Array,
  uri: string,
): Promise<IntegrationRecord | undefined> => reader.get(integrations, [domainId, uri]);

/** A domain's integration. Throws INTEGRATION_NOT_FOUND. */
export const getIntegration = async (reader: Reader, domainId: Uint8Array, uri: string): Promise<IntegrationRecord> => {
  const record = await findIntegration(reader, domainId, uri);
  if (record === undefined) throw fault(ErrorReason.INTEGRATION_NOT_FOUND, { uri });
  return record;
};

/** The first integrations of a domain by address, after the given one. */
export const listIntegrations = (
  reader: Reader,
  domainId: Uint8Array,
  afterUri: string | undefined,
  limit: number,
): Promise<Entry<readonly [Uint8Array, string], IntegrationRecord>[]> =>
  reader.list(integrations, {
    prefix: [domainId],
    after: afterUri === undefined ? undefined : [domainId, afterUri],
    limit,
  });

/** The names of an account's domains that have an integration with an address, after the given one. */
export const listDomainsWithAddress = async (
  reader: Reader,
  accountId: string,
  uri: string,
  afterDomainName: string | undefined,
  limit: number,
): Promise<string[]> => {
  const entries = await reader.list(integrationsByAddress, {
    prefix: [accountId, uri],
    after: afterDomainName === undefined ? undefined : [accountId, uri, afterDomainName],
    limit,
  });
  return entries.map(({ key }) => key[2]);
};

/** Stores an integration, new or changed. */
export const putIntegration = (
  transaction: Transaction,
  owner: IntegrationOwner,
  record: MessageInitShape<typeof IntegrationRecordSchema> & { readonly uri: string },
): void => {
  transaction.put(integrations, [owner.domainId, record.uri], record);
  transaction.put(integrationsByAddress, [owner.accountId, record.uri, owner.domainName], {});
};

/** The domain of an integration. */
export interface IntegrationOwner {
  readonly accountId: string;
  readonly domainName: string;
  readonly domainId: Uint8Array;
}

/** Removes an integration. */
export const removeIntegration = (transaction: Transaction, owner: IntegrationOwner, uri: string): void => {
  transaction.delete(integrations, [owner.domainId, uri]);
  transaction.delete(integrationsByAddress, [owner.accountId, uri, owner.domainName]);
};

/** Removes all integrations of a domain; their number is limited. Returns their addresses. */
export const removeIntegrationsOf = async (transaction: Transaction, owner: IntegrationOwner): Promise<string[]> => {
  const uris: string[] = [];
  for await (const { key } of transaction.range(integrations, { prefix: [owner.domainId] })) uris.push(key[1]);
  for (const uri of uris) removeIntegration(transaction, owner, uri);
  return uris;
};

/** Disables the integrations of a domain that import objects of a type. */
export const disableIntegrations = async (
  transaction: Transaction,
  domainId: Uint8Array,
  objectTypeName: string,
): Promise<void> => {
  for await (const { key, value } of transaction.range(integrations, { prefix: [domainId] }))
    if (value.objectTypeName === objectTypeName || Object.values(value.objectTypeNames).includes(objectTypeName))
      transaction.put(integrations, key, { ...value, isDisabled: true });
};
