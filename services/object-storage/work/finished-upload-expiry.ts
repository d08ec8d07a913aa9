import type { Store } from "../../kit/store/store.ts";
import { limits } from "../limits.ts";
import { deleteFinishedUploads } from "../store/upload.ts";

/**
 * Deletes the finished uploads that were completed before the instant, in milliseconds, oldest first and in steps of
 * one transaction each; reads no others. Returns how many it deleted.
 */
export const expireFinishedUploads = async (store: Store, beforeMs: number): Promise<number> => {
  for (let deleted = 0; ;) {
    const count = await store.transact((transaction) =>
      deleteFinishedUploads(transaction, Math.max(0, beforeMs), limits.finishedUploadBatch),
    );
    deleted += count;
    if (count < limits.finishedUploadBatch) return deleted;
  }
};
