import { SearchEntryRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { defineTable, text } from "../../kit/store/table.ts";

/**
 * The keys whose current version has a value of an attribute, of each bucket that has a search index. An attribute is
 * `tag/` and the key of a tag, `metadata/` and a name, or `content-type`.
 * Sorted so that the keys with a value are listed in their order, and values that begin alike are next to each other.
 * Written with current_versions, and by the work that builds or removes an index.
 *
 *     search_entries/"i"/"tag/a"/"b"/"k"
 *     0044 6900 7461672f6100 6200 6b00
 */
export const searchEntries = defineTable({
  number: 68,
  name: "search_entries",
  key: [text("index id"), text("attribute"), text("value"), text("key")],
  value: SearchEntryRecordSchema,
});
