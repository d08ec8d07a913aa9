import type { OperatorPage } from "../../kit/server/operator-pages.ts";
import type { Store } from "../../kit/store/store.ts";
import { quarantine } from "../store/layout.ts";

const entriesMax = 1_000;

/**
 * The list of stored data that is damaged or missing, in parts of up to `limit` entries (1,000) in the order of their
 * subjects: `entries` with `subject`, `reason`, and the instants `foundTime` and `seenTime`; and `next`, present while
 * there are more, with which `?after=` goes on.
 */
export const quarantinePage =
  (store: Pick<Store, "read">): OperatorPage =>
  async (query) => {
    const limit = Number(query.get("limit") ?? entriesMax);
    if (!Number.isInteger(limit) || limit < 1 || limit > entriesMax)
      throw new RangeError(`limit is a whole number from 1 to ${entriesMax}.`);
    const after = query.get("after");
    const found = await store.read((reader) =>
      reader.list(quarantine, { limit: limit + 1, ...(after === null ? {} : { after: [after] }) }),
    );
    const entries = found.slice(0, limit).map(({ key: [subject], value: { reason, foundMs, seenMs } }) => ({
      subject,
      reason,
      foundTime: new Date(Number(foundMs)).toISOString(),
      seenTime: new Date(Number(seenMs)).toISOString(),
    }));
    return { entries, ...(found.length > limit && { next: entries.at(-1)?.subject }) };
  };
