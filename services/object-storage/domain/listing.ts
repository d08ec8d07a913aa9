/** A listing as requested, with defaults filled in. */
export interface ListingRequest<Position> {
  /** Only names that begin with this. Empty: all. */
  readonly prefix: string;
  /** Names with this after the prefix become common prefixes. Empty: none do. */
  readonly delimiter: string;
  /** Only rows after this one, and not the common prefix of its name. The empty name: from the start. */
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

/** A row of the database; rows are read in the byte order of their names. Several may have one name. */
export interface NamedRow<Row, Position> {
  readonly name: string;
  /** The row's position among all rows. */
  readonly position: Position;
  readonly row: Row;
}

/** Where to start reading rows. */
export type ListingSeek<Position> =
  /** After this row. */
  | { readonly after: Position }
  /** After every name that begins with this. */
  | { readonly past: string };

/** Reads the next rows whose names begin with the listing's prefix; fewer than `limit` if there are no more. */
export type ReadRows<Row, Position> = (
  seek: ListingSeek<Position>,
  limit: number,
) => Promise<readonly NamedRow<Row, Position>[]>;

/** An entry of a page as it is found without reading the rows of common prefixes. */
export type FoundEntry<Row, Position> =
  | ({ readonly kind: "row" } & NamedRow<Row, Position>)
  | { readonly kind: "common-prefix"; readonly name: string };

/** Reads the next entries of a listing; fewer than `limit` if there are no more. */
export type ReadEntries<Row, Position> = (
  seek: ListingSeek<Position>,
  limit: number,
) => Promise<readonly FoundEntry<Row, Position>[]>;

/** Entries that are read together. Those of the first read only show whether there are common prefixes among them. */
const entriesReadMax = 128;
const entriesReadFirst = 4;

/** Rows that one read returns if there is a delimiter, as long as the rows of its entries are few. */
const delimitedReadMax = 64;
/** Rows that one read returns after a common prefix of many rows: the next one often has many too, all skipped. */
const afterPrefixReadMax = 2;
/** A read costs as much as so many rows; reads that return more of them for each entry are wasteful. */
const rowsPerEntryMax = 16;
/** After so many common prefixes, one read finds out whether those that follow have few rows. */
const probedPrefixes = 8;

/**
 * Decides how many rows the next read returns, if there is a delimiter. Rows that are read and skipped are wasted, and
 * so is a read for each common prefix of two or three rows.
 */
class ReadSize {
  rows = delimitedReadMax;
  #prefixes = 0;

  /** The last read returned so many rows for so many new entries; its last row may belong to a common prefix. */
  learn(rows: number, entries: number, endsInPrefix: boolean): void {
    const isWorthIt = !endsInPrefix || (entries > 1 && rows <= rowsPerEntryMax * entries);
    this.#prefixes = isWorthIt ? 0 : this.#prefixes + 1;
    if (isWorthIt) this.rows = Math.min(2 * this.rows, delimitedReadMax);
    else this.rows = this.#prefixes % probedPrefixes === 0 ? rowsPerEntryMax : afterPrefixReadMax;
  }
}

/**
 * Reads one page. Common prefixes count as entries; the rows of one are skipped by seeking past it, so the cost of a
 * page depends on its entries only, however many names have its common prefixes. One entry more than asked for is read,
 * to know whether there are more.
 *
 * A seek costs as much as ten rows. Where entries can be read as such, they are, as long as there are common prefixes
 * among them; rows that follow each other are read as rows.
 */
export const listPage = async <Row, Position>(
  request: ListingRequest<Position>,
  readRows: ReadRows<Row, Position>,
  readEntries?: ReadEntries<Row, Position>,
): Promise<ListingPage<Row>> => {
  const { prefix, delimiter, entriesMax } = request;
  if (entriesMax === 0) return { entries: [], isTruncated: false };
  const entries: ListingEntry<Row>[] = [];
  const wanted = entriesMax + 1;
  const size = new ReadSize();
  let seek = firstSeek(request);
  let readsEntries = readEntries !== undefined;
  let readAtOnce = entriesReadFirst;
  for (;;) {
    if (readEntries !== undefined && readsEntries) {
      const limit = Math.min(wanted - entries.length, readAtOnce);
      const found = await readEntries(seek, limit);
      for (const entry of found) entries.push(entry);
      const last = found.at(-1);
      if (entries.length === wanted) return { entries: entries.slice(0, entriesMax), isTruncated: true };
      if (last === undefined || found.length < limit) return { entries, isTruncated: false };
      seek = last.kind === "row" ? { after: last.position } : { past: last.name };
      readAtOnce = entriesReadMax;
      readsEntries = found.some(({ kind }) => kind === "common-prefix");
      continue;
    }
    const before = entries.length;
    const limit = Math.min(wanted - before, delimiter === "" ? wanted : size.rows);
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
    size.learn(rows.length, entries.length - before, skipped !== undefined);
    readsEntries = skipped !== undefined;
  }
};

/** Where a listing begins to read. A start inside a common prefix skips all of that prefix. */
export const firstSeek = <Position>({
  prefix,
  delimiter,
  start,
}: Pick<ListingRequest<Position>, "prefix" | "delimiter" | "start">): ListingSeek<Position> => {
  const within = commonPrefixOf(start.name, prefix, delimiter);
  return within === undefined ? { after: start.position } : { past: within };
};

/** The part of a name up to the first delimiter after the prefix; undefined if the name has none. */
export const commonPrefixOf = (name: string, prefix: string, delimiter: string): string | undefined => {
  if (delimiter === "" || !name.startsWith(prefix)) return undefined;
  const found = name.indexOf(delimiter, prefix.length);
  return found === -1 ? undefined : name.slice(0, found + delimiter.length);
};

/** Bytes that are not encoded in listings with encoding-type `url`: the slash stays readable. */
const plainCharacter = /[A-Za-z0-9\-_.~*/]/;

/** How a listing writes names: unchanged, or for encoding-type `url` percent-encoded; a space becomes a plus sign. */
export const encodeListed = (encodingType: string | undefined): ((name: string) => string) =>
  encodingType === "url" ? percentEncode : (name) => name;

const percentEncode = (name: string): string => {
  let encoded = "";
  for (const byte of Buffer.from(name)) {
    const character = String.fromCharCode(byte);
    if (plainCharacter.test(character)) encoded += character;
    else if (character === " ") encoded += "+";
    else encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
};
