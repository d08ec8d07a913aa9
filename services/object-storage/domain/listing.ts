/** What a listing asks for, already defaulted. */
export interface ListingRequest<Position> {
  /** Only names that begin with this. Empty: all. */
  readonly prefix: string;
  /** Names with this after the prefix are rolled up. Empty: no rolling up. */
  readonly delimiter: string;
  /** Only rows behind this one, and no common prefix that its name lies in. The empty name: from the start. */
  readonly start: { readonly name: string; readonly position: Position };
  /** The most entries. 0: none. */
  readonly entriesMax: number;
}

/** One entry of a page. */
export type ListingEntry<Row> =
  | { readonly kind: "row"; readonly name: string; readonly row: Row }
  | { readonly kind: "common-prefix"; readonly name: string };

/** One page. */
export interface ListingPage<Row> {
  readonly entries: readonly ListingEntry<Row>[];
  readonly isTruncated: boolean;
}

/** Rows in the byte order of their names, as the database gives them. Several may have one name. */
export interface NamedRow<Row, Position> {
  readonly name: string;
  /** Where the row stands among all rows. */
  readonly position: Position;
  readonly row: Row;
}

/** Where a reading of rows begins. */
export type ListingSeek<Position> =
  /** Behind this row. */
  | { readonly after: Position }
  /** Behind every name that begins with this. */
  | { readonly past: string };

/** Reads the next rows that begin with the listing's prefix; fewer than `limit` means that nothing is left. */
export type ReadRows<Row, Position> = (
  seek: ListingSeek<Position>,
  limit: number,
) => Promise<readonly NamedRow<Row, Position>[]>;

/** Rows read at once while names are rolled up: one that is skipped costs little, a seek costs more. */
const rolledUpReadMax = 64;

/**
 * Makes one page. Common prefixes count as entries; the rows of one are skipped by seeking past it, so a page costs
 * as much as it shows however many names lie in its common prefixes. One entry more than asked for is looked for, to
 * know whether anything is left.
 */
export const listPage = async <Row, Position>(
  request: ListingRequest<Position>,
  readRows: ReadRows<Row, Position>,
): Promise<ListingPage<Row>> => {
  const { prefix, delimiter, entriesMax } = request;
  if (entriesMax === 0) return { entries: [], isTruncated: false };
  const entries: ListingEntry<Row>[] = [];
  const wanted = entriesMax + 1;
  const readMax = delimiter === "" ? wanted : rolledUpReadMax;
  let seek = firstSeek(request);
  for (;;) {
    const limit = Math.min(wanted - entries.length, readMax);
    const rows = await readRows(seek, limit);
    let skipped: string | undefined;
    for (const { name, row } of rows) {
      if (skipped !== undefined && name.startsWith(skipped)) continue;
      skipped = commonPrefixOf(name, prefix, delimiter);
      entries.push(skipped === undefined ? { kind: "row", name, row } : { kind: "common-prefix", name: skipped });
      if (entries.length === wanted) return { entries: entries.slice(0, entriesMax), isTruncated: true };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return { entries, isTruncated: false };
    seek = skipped === undefined ? { after: last.position } : { past: skipped };
  }
};

/** A start inside a common prefix lies behind all of that prefix. */
const firstSeek = <Position>({ prefix, delimiter, start }: ListingRequest<Position>): ListingSeek<Position> => {
  const within = commonPrefixOf(start.name, prefix, delimiter);
  return within === undefined ? { after: start.position } : { past: within };
};

/** The part of a name through the first delimiter after the prefix; undefined when the name is not rolled up. */
export const commonPrefixOf = (name: string, prefix: string, delimiter: string): string | undefined => {
  if (delimiter === "" || !name.startsWith(prefix)) return undefined;
  const found = name.indexOf(delimiter, prefix.length);
  return found === -1 ? undefined : name.slice(0, found + delimiter.length);
};
