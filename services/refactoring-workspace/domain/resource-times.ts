import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

/** The instants of a record, in milliseconds. */
export interface RecordedTimes {
  readonly createdMs: bigint;
  readonly lastUpdatedMs: bigint;
}

/** The instants of a resource as answers show them. */
export const timesOf = (
  record: RecordedTimes,
): { readonly createdTime: Timestamp; readonly lastUpdatedTime: Timestamp } => ({
  createdTime: timestampFromMs(Number(record.createdMs)),
  lastUpdatedTime: timestampFromMs(Number(record.lastUpdatedMs)),
});
