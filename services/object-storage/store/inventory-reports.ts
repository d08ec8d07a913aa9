import { InventoryReportRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { defineTable, text } from "../../kit/store/table.ts";

/**
 * The latest report of each inventory.
 * Sorted so that those of a bucket are deleted together with it.
 *
 *     inventory_reports/"b"/"i"
 *     003f 6200 6900
 */
export const inventoryReports = defineTable({
  number: 63,
  name: "inventory_reports",
  key: [text("bucket id"), text("id")],
  value: InventoryReportRecordSchema,
});
