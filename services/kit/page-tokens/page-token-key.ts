import { randomBytes } from "node:crypto";

import type { SecretKey } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import { SecretKeySchema } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import type { Logger } from "../log/log.ts";
import { findOrDamaged } from "../store/damage.ts";
import type { Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";
import { defineTable, text } from "../store/table.ts";

/** The table that holds the key of a service's page tokens. */
export const pageTokenKeyTable = (number: number): Table<readonly [name: string], SecretKey> =>
  defineTable({ number, name: "page_token_keys", key: [text("name")], value: SecretKeySchema });

const keyBytes = 32;

/**
 * The key of the service's page tokens, 32 bytes. Made on first use, so that tokens stay good across restarts. One that
 * is damaged is replaced, after which no earlier token is good any more.
 */
export const pageTokenKey = (
  store: Store,
  table: Table<readonly [name: string], SecretKey>,
  log?: Pick<Logger, "error">,
): Promise<Uint8Array> =>
  store.transact(async (tx) => {
    const known = await findOrDamaged(tx.get(table, ["page-tokens"]));
    if (known !== undefined && known !== "damaged" && known.key.byteLength === keyBytes) return known.key;
    const key = new Uint8Array(randomBytes(keyBytes));
    tx.put(table, ["page-tokens"], { key });
    if (known !== undefined)
      tx.afterCommit(() => log?.error({ table: table.name }, "the key of page tokens was damaged, and is replaced"));
    return key;
  });
