import type { ForkRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ForkRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Reader } from "../../kit/store/store.ts";
import { defineTable, text } from "../../kit/store/table.ts";

/**
 * Forks of buckets, by the names of the buckets that they make; kept until that bucket is deleted.
 * While one is in progress it reserves its name, together with an entry of account_buckets, which has no bucket then.
 * Written with account_buckets, and with buckets at its end.
 *
 *     forks/"b"
 *     000f 6200
 */
export const forks = defineTable({ number: 15, name: "forks", key: [text("name")], value: ForkRecordSchema });

/** The fork that is making a bucket of this name; undefined: the name is not reserved. */
export const findOpenFork = async (reader: Reader, name: string): Promise<ForkRecord | undefined> => {
  const fork = await reader.get(forks, [name]);
  return fork?.status === "IN_PROGRESS" ? fork : undefined;
};
