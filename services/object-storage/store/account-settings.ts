import { AccountSettingsRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { defineTable, text } from "../../kit/store/table.ts";

/**
 * What counts in all buckets of an account.
 * Sorted so that it is found by the account. Read whole when the service is opened.
 *
 *     account_settings/"1"
 *     0042 3100
 */
export const accountSettings = defineTable({
  number: 66,
  name: "account_settings",
  key: [text("account")],
  value: AccountSettingsRecordSchema,
});
