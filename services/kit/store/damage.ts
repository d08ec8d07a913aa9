import { StoreCorruptionError } from "./errors.ts";

/** For the `catch` of a read: a damaged record is read as if there were none. Other errors are thrown again. */
export const undefinedIfDamaged = (error: unknown): undefined => {
  if (!(error instanceof StoreCorruptionError)) throw error;
  return undefined;
};

/** Whether a read meets a damaged record. Rejects with any other error. */
export const meetsDamage = async (read: Promise<unknown>): Promise<boolean> => {
  try {
    await read;
    return false;
  } catch (error) {
    if (error instanceof StoreCorruptionError) return true;
    throw error;
  }
};
