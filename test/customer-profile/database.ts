import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

import { layout } from "../../services/customer-profile/store/layout.ts";
import type { Store } from "../../services/kit/store/store.ts";
import type { Table } from "../../services/kit/store/table.ts";
import { keyBytes, pretty } from "../../services/kit/store/table.ts";
import { toBinary } from "@bufbuild/protobuf";

/** One record of the database: its key for people, and the bytes of key and value. */
export interface Row {
  readonly key: string;
  readonly keyBytes: Buffer;
  readonly valueBytes: Buffer;
}

/** All records of the service's own tables. */
export const rowsOf = (store: Store): Promise<Row[]> =>
  store.read(async (reader) => {
    const rows: Row[] = [];
    for (const table of layout as readonly Table[])
      for await (const { key, value } of reader.range(table, {}))
        rows.push({
          key: pretty(table, key),
          keyBytes: Buffer.from(keyBytes(table, key)),
          valueBytes: Buffer.from(toBinary(table.schema, value)),
        });
    return rows;
  });

/** The names of the tables that hold records, with how many; less the list of keys that wait for their compaction. */
export const countsOf = async (store: Store): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { key } of await rowsOf(store)) {
    const name = key.split("/")[0] ?? "";
    if (name === "erased_keys") continue;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};

/** Everything that lies in a directory, as one text of bytes. */
export const bytesOfFiles = async (directory: string): Promise<Buffer> => {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return Buffer.concat(await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name)))));
};
