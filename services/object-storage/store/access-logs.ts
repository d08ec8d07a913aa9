import type { AccessLogRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { AccessLogRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Entry } from "../../kit/store/store.ts";
import { defineTable, integer, text } from "../../kit/store/table.ts";

/**
 * Lines of access logs that wait for their delivery, by the instant at which they were stored.
 * Sorted so that those of a bucket are delivered together, the oldest first.
 * Deleted after the object that they are in was put.
 *
 *     access_logs/"b"/1/"i"
 *     0041 6200 0000000000000001 6900
 */
export const accessLogs = defineTable({
  number: 65,
  name: "access_logs",
  key: [text("bucket id"), integer("stored"), text("id")],
  value: AccessLogRecordSchema,
});

/** Lines of one bucket that were stored together. */
export type AccessLogEntry = Entry<readonly [bucketId: string, storedMs: number, id: string], AccessLogRecord>;

/** Bytes of the lines of an entry, which are ASCII. */
export const bytesOfLines = ({ value }: AccessLogEntry): number =>
  value.lines.reduce((sum, line) => sum + line.text.length, 0);
