import { ErrorReasonSchema } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { accessRules } from "../../kit/access/decide.ts";

/** How this service's operations are named in policies and in refusals. */
export const rules = accessRules({
  names: { public: "s3", documented: "object-storage" },
  refusalPrefix: "s3",
  principal: "s3.amazonaws.com",
  errors: ErrorReasonSchema,
  // Policies allow the listing of buckets on this, as documented, or on everything.
  everything: "arn:aws:s3:::*",
});
