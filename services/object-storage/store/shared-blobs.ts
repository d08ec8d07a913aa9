import { SharedBlobRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { defineTable, text } from "../../kit/store/table.ts";

/**
 * Further references to blobs in the database, so that sharing one does not write its content again.
 * Sorted so that the scrub reads them in the order of the blobs.
 * Written with versions, parts or blobs, with which the reference begins or ends.
 *
 *     shared_blobs/"b"
 *     000e 6200
 */
export const sharedBlobs = defineTable({
  number: 14,
  name: "shared_blobs",
  key: [text("blob id")],
  value: SharedBlobRecordSchema,
});
