import type {
  EnvironmentRecord,
  EnvironmentVpcRecord,
} from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Entry, Reader, Transaction } from "../../kit/store/transaction.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { everyAccount } from "../domain/resource-policy.ts";
import { environments, environmentsByOwner, environmentShares, environmentVpcs } from "./layout.ts";
import { orNotFound } from "./or-not-found.ts";
import { deletePolicy } from "./resource-policy.ts";

/** The environment; undefined if it does not exist. */
export const findEnvironment = (reader: Reader, environmentId: string): Promise<EnvironmentRecord | undefined> =>
  reader.get(environments, [environmentId]);

/** The environment. Throws RESOURCE_NOT_FOUND. */
export const getEnvironment = async (reader: Reader, environmentId: string): Promise<EnvironmentRecord> =>
  orNotFound(await findEnvironment(reader, environmentId), "ENVIRONMENT", environmentId);

/** The ids of the environments that an account owns, after the given one. */
export const listOwnedIds = async (
  reader: Reader,
  accountId: string,
  afterId: string | undefined,
  limit: number,
): Promise<string[]> => {
  const found = walkTable(reader, environmentsByOwner, {
    prefix: [accountId],
    after: afterId === undefined ? undefined : [accountId, afterId],
    limit,
  });
  return Array.fromAsync(found, ({ key }) => key[1]);
};

/** Whether an account owns an environment, also one whose record is damaged. */
export const isOwnedBy = async (reader: Reader, accountId: string, environmentId: string): Promise<boolean> =>
  (await findOrDamaged(reader.get(environmentsByOwner, [accountId, environmentId]))) !== undefined;

/** The ids of the environments that an account owns or that policies name it for, after the given one. */
export const listNamedIds = async (
  reader: Reader,
  accountId: string,
  afterId: string | undefined,
  limit: number,
): Promise<string[]> => {
  const owned = await listOwnedIds(reader, accountId, afterId, limit);
  const shared = await Promise.all(
    [accountId, everyAccount].map((account) =>
      Array.fromAsync(
        walkTable(reader, environmentShares, {
          prefix: [account],
          after: afterId === undefined ? undefined : [account, afterId],
          limit,
        }),
      ),
    ),
  );
  const all = new Set([...owned, ...shared.flat().map(({ key }) => key[1])]);
  return [...all].toSorted().slice(0, limit);
};

/** Stores a new environment. */
export const createEnvironment = (transaction: Transaction, record: EnvironmentRecord): void => {
  transaction.put(environments, [record.environmentId], record);
  transaction.put(environmentsByOwner, [record.ownerAccountId, record.environmentId], {});
};

/** Stores a changed environment; its owner stays. */
export const replaceEnvironment = (transaction: Transaction, record: EnvironmentRecord): void =>
  transaction.put(environments, [record.environmentId], record);

/** Deletes an environment, which must not hold anything, and its policy. */
export const deleteEnvironment = async (transaction: Transaction, record: EnvironmentRecord): Promise<void> => {
  transaction.delete(environments, [record.environmentId]);
  transaction.delete(environmentsByOwner, [record.ownerAccountId, record.environmentId]);
  await deletePolicy(transaction, record.environmentId);
};

/** The VPCs of an environment by id, after the given one. */
export const listVpcs = (
  reader: Reader,
  environmentId: string,
  afterVpcId: string | undefined,
  limit: number,
): Promise<Entry<readonly [string, string], EnvironmentVpcRecord>[]> =>
  reader.list(environmentVpcs, {
    prefix: [environmentId],
    after: afterVpcId === undefined ? undefined : [environmentId, afterVpcId],
    limit,
  });

/** The description of a VPC by the fabric. */
export interface VpcFacts {
  readonly name: string | undefined;
  readonly cidrBlocks: readonly string[];
}

/** Counts one service more in a VPC. */
export const enterVpc = async (
  transaction: Transaction,
  environmentId: string,
  vpcId: string,
  facts: VpcFacts,
  nowMs: number,
): Promise<void> => {
  const before = await transaction.get(environmentVpcs, [environmentId, vpcId]);
  transaction.put(environmentVpcs, [environmentId, vpcId], {
    serviceCount: (before?.serviceCount ?? 0) + 1,
    vpcName: facts.name,
    cidrBlocks: [...facts.cidrBlocks],
    createdMs: before?.createdMs ?? BigInt(nowMs),
    lastUpdatedMs: BigInt(nowMs),
  });
};

/** Counts one service less in a VPC; the record of a VPC without services is deleted. */
export const leaveVpc = async (
  transaction: Transaction,
  environmentId: string,
  vpcId: string,
  nowMs: number,
): Promise<void> => {
  const before = await transaction.get(environmentVpcs, [environmentId, vpcId]);
  if (before === undefined) return;
  if (before.serviceCount <= 1) transaction.delete(environmentVpcs, [environmentId, vpcId]);
  else
    transaction.put(environmentVpcs, [environmentId, vpcId], {
      ...before,
      serviceCount: before.serviceCount - 1,
      lastUpdatedMs: BigInt(nowMs),
    });
};
