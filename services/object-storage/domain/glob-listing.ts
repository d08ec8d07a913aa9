import { limits } from "../limits.ts";
import type { Glob } from "./glob.ts";
import type { ListingEntry, ListingPage, ListingRequest, ListingSeek, ReadRows } from "./listing.ts";
import { commonPrefixOf } from "./listing.ts";

/** A listing of the keys that match a glob. */
export interface GlobListing extends Omit<ListingRequest<string>, "start"> {
  readonly glob: Glob;
  readonly start: ListingSeek<string>;
}

/** A page, which may have fewer entries than asked for while there are more. */
export interface GlobPage<Row> extends ListingPage<Row> {
  /** Where the next page begins. Undefined: there is none. */
  readonly next: ListingSeek<string> | undefined;
}

/** A read costs as much as so many rows. */
const seekRows = 10;
/** Rows of one read: after keys that were skipped, where more may be to skip, and the most. */
const readRowsMin = 16;
const readRowsMax = 512;

/**
 * The beginning of all keys that the listing can have; undefined: there are none, because the glob wants another one
 * than the prefix.
 */
export const scannedPrefix = ({ prefix, glob: { literalPrefix } }: Pick<GlobListing, "prefix" | "glob">) => {
  if (prefix.startsWith(literalPrefix)) return prefix;
  return literalPrefix.startsWith(prefix) ? literalPrefix : undefined;
};

/**
 * Reads one page. Keys that do not match are left out before the others become common prefixes. A common prefix that
 * was found, and keys that cannot match for how they begin, are skipped by seeking past them. The page ends when so
 * many records are read, or the glob has taken so many steps, that the call would take too long.
 */
export const listMatching = async <Row>(
  listing: GlobListing,
  readRows: ReadRows<Row, string>,
): Promise<GlobPage<Row>> => {
  const { prefix, delimiter, entriesMax, glob } = listing;
  const entries: ListingEntry<Row>[] = [];
  if (entriesMax === 0) return { entries, isTruncated: false, next: undefined };
  let [records, steps, limit] = [0, 0, glob.isLiteral ? 1 : readRowsMin];
  for (let seek = listing.start; ;) {
    const rows = await readRows(seek, limit);
    let skipped: string | undefined;
    for (const { name, row } of rows) {
      if (skipped !== undefined && name.startsWith(skipped)) continue;
      const { isMatch, hopelessPrefix, steps: taken } = glob.match(name);
      if (isMatch && entries.length === entriesMax) return { entries, isTruncated: true, next: seek };
      const common = isMatch ? commonPrefixOf(name, prefix, delimiter) : undefined;
      if (common !== undefined) entries.push({ kind: "common-prefix", name: common });
      else if (isMatch) entries.push({ kind: "row", name, row });
      skipped = common ?? hopelessPrefix;
      seek = skipped === undefined ? { after: name } : { past: skipped };
      steps += taken;
      if (steps > limits.globStepsMax) return { entries, isTruncated: true, next: seek };
    }
    if (rows.length < limit || glob.isLiteral) return { entries, isTruncated: false, next: undefined };
    records += rows.length + seekRows;
    if (records > limits.globRecordsMax) return { entries, isTruncated: true, next: seek };
    limit = skipped === undefined ? Math.min(4 * limit, readRowsMax) : readRowsMin;
  }
};

/** The position of a seek as a text, and back. */
export const encodeSeek = (seek: ListingSeek<string>): string =>
  "past" in seek ? `past:${seek.past}` : `after:${seek.after}`;

export const decodeSeek = (position: string): ListingSeek<string> => {
  const colon = position.indexOf(":");
  const name = position.slice(colon + 1);
  return position.startsWith("past:") ? { past: name } : { after: name };
};
