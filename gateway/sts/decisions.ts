import type { Message } from "@bufbuild/protobuf";

import { ErrorReasonSchema } from "../../gen/quartet/identity/v1/error_reason_pb.ts";
import type { ResourceResolver } from "../../services/kit/access/decide.ts";
import { accessRules, decideCall } from "../../services/kit/access/decide.ts";
import type { CallContext } from "../../services/kit/server/handlers.ts";
import type { Application } from "./application.ts";

const rules = accessRules({
  names: { public: "sts", documented: "security-token" },
  refusalPrefix: "sts",
  principal: "sts.amazonaws.com",
  errors: ErrorReasonSchema,
});

/** Decides a call by the caller's own policies, where no role's trust policy does. Throws ACCESS_DENIED. */
export const decideOwnCall = async (
  { app, caller, method, log, audit, requestId }: CallContext<Application>,
  request: Message,
  resolve: ResourceResolver,
): Promise<void> => {
  const decided = { app: { clock: app.clock, accounts: app.directory }, method, caller, log, audit, requestId };
  await decideCall(rules, decided, request, resolve);
};
