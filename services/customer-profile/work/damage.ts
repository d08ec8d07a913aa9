import { SealBrokenError } from "../../kit/keyring/sealed.ts";
import { StoreCorruptionError } from "../../kit/store/errors.ts";

/** Whether work failed because a record that it needs is damaged: repeating it does not help. */
export const isDamage = (error: unknown): boolean =>
  error instanceof StoreCorruptionError || error instanceof SealBrokenError;

/**
 * Does work on items together, or, if a record of one of them is damaged, on each by itself. Returns the results of all
 * work that was done; those that are damaged are passed to `onDamaged` and left.
 */
export const unlessDamaged = async <Item, Result>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<Result>,
  onDamaged: (error: unknown, item: Item) => void,
): Promise<Result[]> => {
  if (items.length === 0) return [];
  try {
    return [await work(items)];
  } catch (error) {
    if (!isDamage(error)) throw error;
    if (items.length === 1) {
      onDamaged(error, items[0] as Item);
      return [];
    }
  }
  const results: Result[] = [];
  for (const item of items) results.push(...(await unlessDamaged([item], work, onDamaged)));
  return results;
};
