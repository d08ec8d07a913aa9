import { create } from "@bufbuild/protobuf";

import type { KeyUseRecord } from "../../gen/quartet/identity/storage/v1/records_pb.ts";
import { KeyUseRecordSchema } from "../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import { runPeriodically } from "../../services/kit/periodic/periodic.ts";
import type { Store } from "../../services/kit/store/store.ts";
import { limits } from "./limits.ts";
import { keyUses } from "./store/layout.ts";

/** One use of an access key. */
export interface KeyUse {
  readonly accountId: string;
  readonly accessKeyId: string;
  /** As the signature names them. */
  readonly service: string;
  readonly region: string;
}

/** When access keys were last used. */
export interface KeyUses {
  /** Remembers a use. Costs next to nothing; it is written within a minute. */
  note(use: KeyUse): void;
  /** The last use, also one that is not yet written. */
  find(accountId: string, accessKeyId: string): Promise<KeyUseRecord | undefined>;
  /** Writes what is not written. */
  stop(): Promise<void>;
}

export const openKeyUses = (store: Store, clock: Clock, log: Logger): KeyUses => {
  const unwritten = new Map<string, { readonly use: KeyUse; readonly usedMs: number }>();
  const recordOf = ({ use, usedMs }: { readonly use: KeyUse; readonly usedMs: number }): KeyUseRecord =>
    create(KeyUseRecordSchema, { usedMs: BigInt(usedMs), service: use.service, region: use.region });
  const write = async (): Promise<void> => {
    const uses = [...unwritten.values()];
    if (uses.length === 0) return;
    unwritten.clear();
    await store.transact((transaction) => {
      for (const each of uses) {
        const { accountId, accessKeyId } = each.use;
        transaction.put(keyUses, [accountId, accessKeyId], recordOf(each));
      }
    });
  };
  const stop = runPeriodically({ clock, log, intervalMs: limits.keyUseWrittenMs, tasks: { writeKeyUses: write } });
  return {
    note: (use) => void unwritten.set(use.accessKeyId, { use, usedMs: clock.now() }),
    find: async (accountId, accessKeyId) => {
      const recent = unwritten.get(accessKeyId);
      if (recent !== undefined) return recordOf(recent);
      return store.read((reader) => reader.get(keyUses, [accountId, accessKeyId]));
    },
    stop: async () => {
      await stop();
      await write();
    },
  };
};
