import type { PublicAccessBlockRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { everythingBlocked } from "../domain/public-access-block.ts";
import { accountSettings } from "./account-settings.ts";

/**
 * What accounts block in all their buckets. Every decision on a bucket asks for it, so it is in memory: one record for
 * each account that has put one.
 */
export interface AccountBlocks {
  /** The very record until another one is put. Undefined: the account blocks nothing. */
  find(accountId: string): PublicAccessBlockRecord | undefined;
  /** Writes what an account blocks, or that it blocks nothing. It counts from the moment when it is durable. */
  put(accountId: string, block: PublicAccessBlockRecord | undefined): Promise<void>;
}

/** Reads what accounts block. An account whose record is damaged blocks everything until it is put again. */
export const openAccountBlocks = async (store: Store, log: Pick<Logger, "error">): Promise<AccountBlocks> => {
  const known = new Map<string, PublicAccessBlockRecord>();
  await store.read(async (reader) => {
    for await (const { key, value } of walkTable(reader, accountSettings)) {
      const [accountId] = key;
      if (value === undefined) log.error({ accountId }, "the settings of an account are damaged");
      const block = value === undefined ? everythingBlocked : value.publicAccessBlock;
      if (block !== undefined) known.set(accountId, block);
    }
  });
  let last: Promise<unknown> = Promise.resolve();
  const write = async (accountId: string, block: PublicAccessBlockRecord | undefined): Promise<void> => {
    await store.transact((transaction) => {
      if (block === undefined) transaction.delete(accountSettings, [accountId]);
      else transaction.put(accountSettings, [accountId], { publicAccessBlock: block });
    });
    if (block === undefined) known.delete(accountId);
    else known.set(accountId, block);
  };
  return {
    find: (accountId) => known.get(accountId),
    put: (accountId, block) => {
      // One after the other, so that what is known is what was written last.
      const written = last.then(() => write(accountId, block));
      last = written.catch(() => undefined);
      return written;
    },
  };
};
