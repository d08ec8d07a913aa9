import { DirectoryEntryRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { defineTable, text } from "../../kit/store/table.ts";

/**
 * The keys and directories that lie directly in each directory: the part of keys up to a slash, with it; empty for the
 * bucket itself. Only keys with a current version count. The name of a directory ends with its slash.
 * Sorted so that a listing by slashes reads the common prefixes between keys in one range, whatever they contain.
 * Written with current_versions.
 *
 *     directory_entries/"b"/"a/"/"c/"
 *     0040 6200 612f00 632f00
 */
export const directoryEntries = defineTable({
  number: 64,
  name: "directory_entries",
  key: [text("bucket id"), text("directory"), text("name")],
  value: DirectoryEntryRecordSchema,
});
