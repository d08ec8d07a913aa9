import { SecurityTokenService } from "../../gen/quartet/identity/v1/security_token_service_pb.ts";
import { guarded } from "../../services/kit/server/guard.ts";
import type { Guard } from "../../services/kit/server/guard.ts";
import { unsigned } from "../identity/unsigned.ts";
import type { Application } from "./application.ts";
import {
  assumeRole,
  assumeRoleWithWebIdentity,
  getAccessKeyInfo,
  getCallerIdentity,
  getFederationToken,
  getSessionToken,
} from "./operations.ts";
import { denied } from "./recorded.ts";
import { getWebIdentityToken } from "./web-identity-token.ts";

/** The operation in which a web identity stands for a signature. */
const openOperation = SecurityTokenService.method.assumeRoleWithWebIdentity.name;
/** The operations that issue nothing for the caller's own right. */
const ofAnyCaller = new Set([openOperation, SecurityTokenService.method.getCallerIdentity.name]);

/**
 * Refuses callers without a signature but where a web identity stands for one: UNAUTHENTICATED; and credentials to who
 * shows a token, whose life they would prolong, and to federated users: ACCESS_DENIED. Everything else is decided by
 * the trust policy of the role, which only the operation itself can read, or by the operation.
 */
const guard: Guard<Application, undefined> = async (_request, context) => {
  const { method, caller } = context;
  if (caller.isAnonymous && method.name !== openOperation) throw unsigned(context, "sts");
  const refused = caller.isTokenBorne === true ? "token-borne" : caller.federatedBy && "federated-user";
  if (refused !== undefined && !ofAnyCaller.has(method.name)) throw denied(context, `sts:${method.name}`, "*", refused);
  return undefined;
};

/** Every operation of the security token service. */
export const securityTokenHandlers = guarded(
  SecurityTokenService,
  {
    assumeRole,
    assumeRoleWithWebIdentity,
    getAccessKeyInfo,
    getCallerIdentity,
    getFederationToken,
    getSessionToken,
    getWebIdentityToken,
  },
  guard,
);
