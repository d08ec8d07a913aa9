import type { VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { countMetrics } from "../../kit/metrics/count-metrics.ts";
import type { Metrics } from "../../kit/metrics/metrics.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { counts, versions } from "./layout.ts";

/** The names of the counts: versions with content, and the bytes of their content. */
const objects = "objects";
const bytes = "bytes";

/** Counts a version that is stored, or with -1 one that is removed; not a delete marker, which has no content. */
export const countVersion = (
  transaction: Transaction,
  { isDeleteMarker, sizeBytes }: Pick<VersionRecord, "isDeleteMarker" | "sizeBytes">,
  by: 1 | -1,
): void => {
  if (isDeleteMarker) return;
  transaction.add(counts, [objects], { value: by });
  transaction.add(counts, [bytes], { value: by * Number(sizeBytes) });
};

/**
 * Counts once what a database holds that has no counts, or damaged ones, which takes a walk over all its versions.
 * Those that are damaged are left out, because nothing can be read of them.
 */
export const openAmounts = async (store: Store): Promise<void> => {
  const known = await store.read((reader) => Array.fromAsync(walkTable(reader, counts)));
  const whole = known.flatMap(({ key: [name], value }) => (value === undefined ? [] : [name]));
  if (whole.includes(objects) && whole.includes(bytes)) return;
  const sums = { objects: 0n, bytes: 0n };
  await store.read(async (reader) => {
    for await (const { value } of walkTable(reader, versions)) {
      if (value === undefined || value.isDeleteMarker) continue;
      sums.objects += 1n;
      sums.bytes += value.sizeBytes;
    }
  });
  await store.transact((transaction) => {
    transaction.put(counts, [objects], { value: sums.objects });
    transaction.put(counts, [bytes], { value: sums.bytes });
  });
};

/** Adds the metrics of what is stored. */
export const amountMetrics = (metrics: Metrics, store: Pick<Store, "read">): void =>
  countMetrics(metrics, store, counts, [
    {
      name: "object_storage_objects",
      type: "gauge",
      help: "Objects that are stored, each version counted.",
      counts: [[objects, {}]],
    },
    {
      name: "object_storage_object_bytes",
      type: "gauge",
      help: "Bytes of their content.",
      counts: [[bytes, {}]],
    },
  ]);
