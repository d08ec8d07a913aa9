import type { Ids } from "../../kit/ids/ids.ts";

/**
 * The id of content that is stored as a file: random hexadecimal digits. The first two name its directory, so files are
 * spread evenly.
 */
export const fileBlobId = (ids: Ids): string => ids.hex(32);

/** The last instant that an id can have, in milliseconds since 1970: in the year 10889. */
const lastMs = 2 ** 48 - 1;

/**
 * The id of content that is stored in the database. It begins with the time from the instant at which the content came
 * to the last one: new content comes before all other and is not merged with it again and again
 * (services/decisions/0014). It is in no directory of files, so what looks for files does not pass it.
 */
export const inlineBlobId = (ids: Ids, nowMs: number): string =>
  `i${(lastMs - Math.floor(nowMs)).toString(16).padStart(12, "0")}${ids.hex(20)}`;
