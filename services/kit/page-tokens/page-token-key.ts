import { randomBytes } from "node:crypto";

import type { SecretKey } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import { SecretKeySchema } from "../../../gen/quartet/kit/storage/v1/records_pb.ts";
import type { Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";
import { defineTable, text } from "../store/table.ts";

/** The table that holds the key of a service's page tokens. */
export const pageTokenKeyTable = (number: number): Table<readonly [name: string], SecretKey> =>
  defineTable({ number, name: "page_token_keys", key: [text("name")], value: SecretKeySchema });

/** The key of the service's page tokens, 32 bytes. Made on first use, so that tokens stay good across restarts. */
export const pageTokenKey = (store: Store, table: Table<readonly [name: string], SecretKey>): Promise<Uint8Array> =>
  store.transact(async (tx) => {
    const known = await tx.get(table, ["page-tokens"]);
    if (known !== undefined) return known.key;
    const key = new Uint8Array(randomBytes(32));
    tx.put(table, ["page-tokens"], { key });
    return key;
  });
