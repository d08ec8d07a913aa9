import { MfaUseRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { defineTable, text } from "../../kit/store/table.ts";

/**
 * The latest code that each device of a second factor was used with.
 * Sorted so that it is found by the device's serial number.
 * Written with the change that the code was for.
 *
 *     mfa_uses/"m"
 *     003d 6d00
 */
export const mfaUses = defineTable({ number: 61, name: "mfa_uses", key: [text("serial")], value: MfaUseRecordSchema });
