import type { ByteString } from "./byte-string.ts";
import { byteStringOf, successor } from "./byte-string.ts";
import type { RawEntry, Snapshot } from "./engine.ts";
import { StoreCorruptionError } from "./errors.ts";

/** One record as it is stored, or the key of one that is damaged. */
export type DumpedRecord = RawEntry | { readonly key: ByteString; readonly payload: undefined };

/** Tables begin at number 1 and end before 65535; below them are the store's own records. */
const [tablesBegin, tablesEnd] = ["\u0000\u0001", "\u00ff\u00ff"];

/** All records of all tables in the order of their keys, in pages. A damaged one does not end the dump. */
export async function* dumpRecords(view: Snapshot): AsyncGenerator<readonly DumpedRecord[], void> {
  let low = tablesBegin;
  for (;;) {
    let damaged: ByteString;
    try {
      for await (const page of view.scan({ low, high: tablesEnd }, false, Number.POSITIVE_INFINITY)) {
        yield page;
        const last = page.at(-1);
        if (last !== undefined) low = successor(last.key);
      }
      return;
    } catch (error) {
      if (!(error instanceof StoreCorruptionError)) throw error;
      damaged = byteStringOf(error.key);
    }
    // A page with a damaged record is not returned at all.
    yield* view.scan({ low, high: damaged }, false, Number.POSITIVE_INFINITY);
    yield [{ key: damaged, payload: undefined }];
    low = successor(damaged);
  }
}
