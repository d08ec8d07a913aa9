import { SecurityTokenService } from "../../gen/quartet/identity/v1/security_token_service_pb.ts";
import { guarded } from "../../services/kit/server/guard.ts";
import type { Guard } from "../../services/kit/server/guard.ts";
import { unsigned } from "../identity/unsigned.ts";
import type { Application } from "./application.ts";
import { assumeRole, assumeRoleWithWebIdentity, getCallerIdentity, getSessionToken } from "./operations.ts";

/**
 * Refuses callers without a signature but where a web identity stands for one: UNAUTHENTICATED. Everything else is
 * decided by the trust policy of the role, which only the operation itself can read.
 */
const guard: Guard<Application, undefined> = async (_request, context) => {
  const { method, caller } = context;
  if (caller.isAnonymous && method.name !== "AssumeRoleWithWebIdentity") throw unsigned(context, "sts");
  return undefined;
};

/** Every operation of the security token service. */
export const securityTokenHandlers = guarded(
  SecurityTokenService,
  { assumeRole, assumeRoleWithWebIdentity, getCallerIdentity, getSessionToken },
  guard,
);
