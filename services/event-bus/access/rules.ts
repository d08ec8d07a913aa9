import { ErrorReasonSchema } from "../../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { accessRules } from "../../kit/access/decide.ts";

/** How this service's operations are named in policies and in refusals. */
export const rules = accessRules({
  names: { public: "events", documented: "event-bus" },
  refusalPrefix: "events",
  principal: "events.amazonaws.com",
  errors: ErrorReasonSchema,
});
