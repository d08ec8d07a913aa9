import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type {
  GetWebIdentityTokenRequest,
  GetWebIdentityTokenResponseSchema,
} from "../../gen/quartet/identity/v1/security_token_service_pb.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import { signToken, tokenBytesMax, tokenLifetimeMs, tokenLifetimeMsMax } from "../../services/kit/identity/tokens.ts";
import type { CallContext } from "../../services/kit/server/handlers.ts";
import { ErrorReason, fault } from "../identity/faults.ts";
import type { Application } from "./application.ts";
import { decideOwnCall } from "./decisions.ts";
import { denied } from "./recorded.ts";

const secondsDefault = tokenLifetimeMs / 1_000;
const secondsMax = tokenLifetimeMsMax / 1_000;
/** That of the key pair. Programs that show the token here verify nothing, so one algorithm is enough. */
const offeredAlgorithm = "ES384";

/**
 * Issues a token that the caller shows to services instead of signing. It says what the caller may do now, and nothing
 * of where this request came from: the services see that for themselves. Refuses, in this order:
 * 1. a caller without a signature: UNAUTHENTICATED (the guard); one with a token, or without a key of its own:
 *    ACCESS_DENIED;
 * 2. what no policy allows: ACCESS_DENIED;
 * 3. an audience that is no service here, another algorithm, a longer life than any token has, a tag given twice:
 *    FOREIGN_AUDIENCE, SIGNING_ALGORITHM, SESSION_DURATION, INVALID_VALUE;
 * 4. a token that would outlive the caller's session, or that no header has room for: SESSION_ESCALATION,
 *    TOKEN_TOO_LARGE.
 */
export const getWebIdentityToken = async (
  request: GetWebIdentityTokenRequest,
  context: CallContext<Application>,
): Promise<MessageInitShape<typeof GetWebIdentityTokenResponseSchema>> => {
  const { app, caller } = context;
  if (caller.accessKeyId === undefined) throw denied(context, "sts:GetWebIdentityToken", "*", "no-key");
  const { durationSeconds = secondsDefault } = request;
  // A condition on the duration holds for the default one, too.
  const asked: GetWebIdentityTokenRequest = { ...request, durationSeconds };
  await decideOwnCall(context, asked, () => {
    throw new Error("the actions of tokens have no resources");
  });

  const audience = audiencesOf(app, request.audience);
  const { signingAlgorithm: algorithm = "" } = request;
  if (algorithm !== offeredAlgorithm)
    throw fault(ErrorReason.SIGNING_ALGORITHM, { algorithm, offered: offeredAlgorithm });
  if (durationSeconds > secondsMax) throw fault(ErrorReason.SESSION_DURATION, { limit: String(secondsMax) });
  const requestTags = tagsOf(request);

  const issuedSeconds = Math.floor(app.clock.now() / 1_000);
  const lifetimeSeconds = lifetimeOf(request.durationSeconds, caller, issuedSeconds);
  const token = await signToken(app.clientTokenKeys, withoutConnection(caller), {
    audience,
    issuedSeconds,
    lifetimeSeconds,
    ...(requestTags === undefined ? {} : { furtherClaims: { request_tags: requestTags } }),
  });
  if (token.length > tokenBytesMax) throw fault(ErrorReason.TOKEN_TOO_LARGE, { limit_bytes: String(tokenBytesMax) });
  return { webIdentityToken: token, expiration: timestampFromMs((issuedSeconds + lifetimeSeconds) * 1_000) };
};

/** A token of ours says what the caller may do, so nobody else is to read it. */
const audiencesOf = ({ audiences }: Application, asked: readonly string[]): readonly string[] => {
  if (!asked.every((each) => audiences.includes(each)))
    throw fault(ErrorReason.FOREIGN_AUDIENCE, { audiences: audiences.join(", ") });
  return [...new Set(asked)];
};

/** Undefined: none. Keys that differ only in their case are one. */
const tagsOf = ({ tags }: GetWebIdentityTokenRequest): Record<string, string> | undefined => {
  const keys = new Set<string>();
  for (const { key } of tags) {
    if (keys.has(key.toLowerCase()))
      throw fault(ErrorReason.INVALID_VALUE, { problem: `The tag ${key} is given twice.` });
    keys.add(key.toLowerCase());
  }
  return tags.length === 0 ? undefined : Object.fromEntries(tags.map(({ key, value }) => [key, value]));
};

/** At most what is left of the caller's session, as nothing may be got from it that outlives it. */
const lifetimeOf = (asked: number | undefined, { sessionEndMs }: Caller, issuedSeconds: number): number => {
  if (sessionEndMs === undefined) return asked ?? secondsDefault;
  const left = Math.floor(sessionEndMs / 1_000) - issuedSeconds;
  const seconds = asked ?? Math.min(secondsDefault, left);
  if (seconds > left || seconds < 1) throw fault(ErrorReason.SESSION_ESCALATION);
  return seconds;
};

const withoutConnection = (of: Caller): Caller => {
  const { sourceIp: _ip, isSecureTransport: _isSecure, tlsVersion: _version, ...caller } = of;
  return caller;
};
