import type { Message } from "@bufbuild/protobuf";

import type { Entry, RangeOptions, Reader } from "../../kit/store/store.ts";
import type { Table } from "../../kit/store/table.ts";
import type { Walked } from "../../kit/store/walk-table.ts";
import { walkTable } from "../../kit/store/walk-table.ts";

/** A part of a listing in order of names. */
export interface NamePage {
  /** The text with which the names begin; empty: all names. */
  readonly namePrefix: string;
  /** The name after which the page begins; undefined: at the first name. */
  readonly after: string | undefined;
  readonly limit: number;
}

/** A page with the first `limit` records of a listing. */
export const firstNames = (limit: number): NamePage => ({ namePrefix: "", after: undefined, limit });

/** A table whose keys end with a name, after the parts of a parent. */
type NamedTable<Parent extends readonly string[], V extends Message> = Table<readonly [...Parent, string], V>;

/** The records of a parent in order of their names; only those that are accepted. */
export const listByName = async <Parent extends readonly string[], V extends Message>(
  reader: Reader,
  table: NamedTable<Parent, V>,
  parent: Parent,
  page: NamePage,
  accepts: (record: V) => boolean = () => true,
): Promise<V[]> => {
  const records: V[] = [];
  for await (const { value } of rangeByName(reader, table, parent, page)) {
    if (accepts(value)) records.push(value);
    if (records.length === page.limit) break;
  }
  return records;
};

/** The names of the records of a parent, in order. */
export const listNames = async <Parent extends readonly string[], V extends Message>(
  reader: Reader,
  table: NamedTable<Parent, V>,
  parent: Parent,
  page: NamePage,
): Promise<string[]> => {
  const names: string[] = [];
  for await (const { key } of rangeByName(reader, table, parent, page)) {
    names.push(key.at(-1) ?? "");
    if (names.length === page.limit) break;
  }
  return names;
};

/** The first `limit` records of a parent in order of their names, also the damaged ones. */
export const walkByName = <Parent extends readonly string[], V extends Message>(
  reader: Reader,
  table: NamedTable<Parent, V>,
  parent: Parent,
  page: NamePage,
): AsyncIterable<Walked<readonly [...Parent, string], V>> =>
  walkTable(reader, table, { ...rangeOf(parent, page), limit: page.limit });

const rangeByName = <Parent extends readonly string[], V extends Message>(
  reader: Reader,
  table: NamedTable<Parent, V>,
  parent: Parent,
  page: NamePage,
): AsyncIterable<Entry<readonly [...Parent, string], V>> => reader.range(table, rangeOf(parent, page));

const rangeOf = <Parent extends readonly string[]>(
  parent: Parent,
  { namePrefix, after }: NamePage,
): RangeOptions<readonly [...Parent, string]> =>
  ({
    prefix: [...parent, namePrefix],
    textPrefix: true,
    ...(after === undefined ? {} : { after: [...parent, after] }),
  }) as unknown as RangeOptions<readonly [...Parent, string]>;
