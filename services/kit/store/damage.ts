import { StoreCorruptionError } from "./errors.ts";

/** For the `catch` of a read: a damaged record is read as if there were none. Other errors are thrown again. */
export const undefinedIfDamaged = (error: unknown): undefined => {
  if (!(error instanceof StoreCorruptionError)) throw error;
  return undefined;
};

/** What a read finds, or that it meets a damaged record. Rejects with any other error. */
export const findOrDamaged = async <T>(read: Promise<T>): Promise<T | "damaged"> => {
  try {
    return await read;
  } catch (error) {
    undefinedIfDamaged(error);
    return "damaged";
  }
};

/** Whether a read meets a damaged record. Rejects with any other error. */
export const meetsDamage = async (read: Promise<unknown>): Promise<boolean> =>
  (await findOrDamaged(read)) === "damaged";
