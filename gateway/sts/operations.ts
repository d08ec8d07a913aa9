import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type {
  AssumeRoleRequest,
  AssumeRoleResponseSchema,
  AssumeRoleWithWebIdentityRequest,
  AssumeRoleWithWebIdentityResponseSchema,
  GetAccessKeyInfoRequest,
  GetAccessKeyInfoResponseSchema,
  GetCallerIdentityRequest,
  GetCallerIdentityResponseSchema,
  GetFederationTokenRequest,
  GetFederationTokenResponseSchema,
  GetSessionTokenRequest,
  GetSessionTokenResponseSchema,
} from "../../gen/quartet/identity/v1/security_token_service_pb.ts";
import type { CredentialsSchema } from "../../gen/quartet/identity/v1/session_pb.ts";
import type { Role } from "../../services/kit/accounts/accounts.ts";
import type { AssumeRoleOutcome } from "../../services/kit/accounts/assume-role.ts";
import {
  assumeRole as decideAssumeRole,
  assumeRoleWithWebIdentity as decideWebIdentity,
} from "../../services/kit/accounts/assume-role.ts";
import { entityArn } from "../../services/kit/accounts/entity-arn.ts";
import type { RecordedCall } from "../../services/kit/access/decision-recorder.ts";
import { temporaryKeyPrefix } from "../../services/kit/identity/access-keys.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import { federatedUserArn } from "../../services/kit/identity/caller.ts";
import { derivedPrincipalId, idAlphabet } from "../../services/kit/identity/principal-ids.ts";
import type { Session } from "../../services/kit/identity/session-tokens.ts";
import type { CallContext } from "../../services/kit/server/handlers.ts";
import type { Application } from "./application.ts";
import { ErrorReason, fault } from "../identity/faults.ts";
import { decideOwnCall } from "./decisions.ts";
import { denied, recordIssued, refusedToken, withIdentity } from "./recorded.ts";
import { readSessionLimits } from "./session-limits.ts";
import { readWebIdentity } from "./web-identity.ts";

type Context = CallContext<Application>;

const secondsDefault = 3_600;
/** The longest session that begins in another one. */
const chainedSecondsMax = 3_600;
const userSecondsDefault = 43_200;
const rootSecondsMax = 3_600;

/**
 * Issues credentials of a role. Refuses, in this order:
 * 1. a caller without a signature: UNAUTHENTICATED (the guard); a device that cannot be known: ACCESS_DENIED;
 * 2. tags and policies that the session cannot have: INVALID_VALUE, MALFORMED_POLICY, PACKED_POLICY_TOO_LARGE;
 * 3. a source identity other than the one that the caller's session has: ACCESS_DENIED;
 * 4. a role that does not exist, or does not trust the caller: ACCESS_DENIED for either, so that nobody learns which;
 * 5. a duration over what the role, or a session within a session, allows: SESSION_DURATION.
 */
export const assumeRole = async (
  request: AssumeRoleRequest,
  context: Context,
): Promise<MessageInitShape<typeof AssumeRoleResponseSchema>> => {
  const { app, caller } = context;
  const { roleArn = "", roleSessionName: sessionName = "", externalId, tags, transitiveTagKeys } = request;
  if (request.serialNumber !== undefined || request.tokenCode !== undefined)
    throw denied(context, "sts:AssumeRole", roleArn, "unknown-device");
  const limits = readSessionLimits(app, request, transitiveTagsOf(caller));
  const sourceIdentity = request.sourceIdentity ?? caller.sourceIdentity;
  if (caller.sourceIdentity !== undefined && sourceIdentity !== caller.sourceIdentity)
    throw denied(context, "sts:SetSourceIdentity", roleArn, "another-source-identity");

  const conditions = new Map<string, readonly string[]>([
    ...timeConditions(app),
    ...tags.map(({ key, value }) => [`aws:requesttag/${key.toLowerCase()}`, [value]] as const),
    ...(tags.length === 0 ? [] : ([["aws:tagkeys", tags.map(({ key }) => key)]] as const)),
    ...(transitiveTagKeys.length === 0 ? [] : ([["sts:transitivetagkeys", transitiveTagKeys]] as const)),
    ...(externalId === undefined ? [] : ([["sts:externalid", [externalId]]] as const)),
    ...(sourceIdentity === undefined ? [] : ([["sts:sourceidentity", [sourceIdentity]]] as const)),
  ]);
  const furtherActions = [
    ...(tags.length === 0 ? [] : ["sts:TagSession"]),
    ...(request.sourceIdentity === undefined ? [] : ["sts:SetSourceIdentity"]),
  ];
  const outcome = decideAssumeRole(app.directory, caller, {
    roleArn,
    sessionName,
    context: conditions,
    furtherActions,
  });
  const role = roleOf(context, outcome, "sts:AssumeRole", roleArn);
  const seconds = secondsOf(request.durationSeconds, role, caller.tokenIssueTimeMs !== undefined);
  const inherited = [...(caller.transitiveTagKeys ?? []), ...transitiveTagKeys];

  const issued = issueRoleSession(app, role, sessionName, seconds, {
    ...limits,
    ...(inherited.length === 0 ? {} : { transitiveTagKeys: inherited }),
    ...(sourceIdentity === undefined ? {} : { sourceIdentity }),
  });
  const { packedPolicySize } = limits;
  recordIssued(context, "sts:AssumeRole", roleArn, "trust-policy");
  return {
    ...issued,
    ...(packedPolicySize === undefined ? {} : { packedPolicySize }),
    ...(sourceIdentity === undefined ? {} : { sourceIdentity }),
  };
};

/**
 * Issues credentials of a role to whoever shows a token of a declared identity provider. Refuses, in this order:
 * 1. a token that does not hold: INVALID_IDENTITY_TOKEN, PROVIDER_UNREACHABLE, EXPIRED_IDENTITY_TOKEN,
 *    REJECTED_IDENTITY;
 * 2. policies that the session cannot have: INVALID_VALUE, MALFORMED_POLICY, PACKED_POLICY_TOO_LARGE;
 * 3. a role that does not exist, or does not trust the provider for these claims: ACCESS_DENIED;
 * 4. a duration over what the role allows: SESSION_DURATION.
 */
export const assumeRoleWithWebIdentity = async (
  request: AssumeRoleWithWebIdentityRequest,
  context: Context,
): Promise<MessageInitShape<typeof AssumeRoleWithWebIdentityResponseSchema>> => {
  const { app } = context;
  const { roleArn = "", roleSessionName: sessionName = "", webIdentityToken = "" } = request;
  const action = "sts:AssumeRoleWithWebIdentity";
  const identity = await readWebIdentity(app, webIdentityToken, roleArn).catch((error: unknown) => {
    throw refusedToken(context, action, roleArn, error);
  });
  const limits = readSessionLimits(app, request);
  const { provider, subject, audience } = identity;
  const known = withIdentity(context, identity);
  const conditions = new Map([...timeConditions(app), ...identity.conditions]);
  const outcome = decideWebIdentity(app.directory, { roleArn, sessionName, context: conditions, provider });
  const role = roleOf(known, outcome, action, roleArn);
  const seconds = secondsOf(request.durationSeconds, role, false);

  const { packedPolicySize } = limits;
  recordIssued(known, action, roleArn, "trust-policy");
  return {
    ...issueRoleSession(app, role, sessionName, seconds, limits),
    subjectFromWebIdentityToken: subject,
    provider: provider.issuer,
    audience,
    ...(packedPolicySize === undefined ? {} : { packedPolicySize }),
  };
};

/** Says who calls. Refuses only a caller without a signature: UNAUTHENTICATED (the guard). */
export const getCallerIdentity = async (
  _request: GetCallerIdentityRequest,
  { app, caller }: Context,
): Promise<MessageInitShape<typeof GetCallerIdentityResponseSchema>> => ({
  userId: userIdOf(app, caller),
  account: caller.accountId,
  arn: caller.principalArn,
});

/**
 * Issues temporary credentials of the caller. They end with the key that asks for them. Refuses, in this order:
 * 1. a caller without a signature: UNAUTHENTICATED (the guard); a device that cannot be known, and a caller who has
 *    temporary credentials already, or no key at all: ACCESS_DENIED;
 * 2. a root that asks for more than an hour: SESSION_DURATION.
 */
export const getSessionToken = async (
  request: GetSessionTokenRequest,
  context: Context,
): Promise<MessageInitShape<typeof GetSessionTokenResponseSchema>> => {
  const { app, caller } = context;
  const { accessKeyId, tokenIssueTimeMs } = caller;
  if (request.serialNumber !== undefined || tokenIssueTimeMs !== undefined || accessKeyId === undefined)
    throw denied(
      context,
      "sts:GetSessionToken",
      "*",
      request.serialNumber === undefined ? "no-lasting-key" : "unknown-device",
    );
  const seconds = ownSeconds(caller, request.durationSeconds);
  const principal = { kind: "key", accessKeyId } as const;
  recordIssued(context, "sts:GetSessionToken", "*", "own-key");
  return { credentials: issue(app, { accountId: caller.accountId, principal }, seconds) };
};

/**
 * Issues temporary credentials of a federated user. They have the caller's own policies as far as those of the request
 * allow the same, so nothing without any but what resources grant to the user itself, and end with the key that asks
 * for them. Refuses, in this order:
 * 1. a caller without a signature: UNAUTHENTICATED (the guard); one who has temporary credentials already, or no key at
 *    all: ACCESS_DENIED;
 * 2. what no policy allows: ACCESS_DENIED;
 * 3. tags and policies that the session cannot have: INVALID_VALUE, MALFORMED_POLICY, PACKED_POLICY_TOO_LARGE;
 * 4. a root that asks for more than an hour: SESSION_DURATION.
 */
export const getFederationToken = async (
  request: GetFederationTokenRequest,
  context: Context,
): Promise<MessageInitShape<typeof GetFederationTokenResponseSchema>> => {
  const { app, caller } = context;
  const { name = "", durationSeconds } = request;
  const { accountId, accessKeyId, tokenIssueTimeMs } = caller;
  const arn = federatedUserArn(accountId, name);
  if (tokenIssueTimeMs !== undefined || accessKeyId === undefined)
    throw denied(context, "sts:GetFederationToken", arn, "no-lasting-key");
  await decideOwnCall(context, request, () => ({ arn, ownerAccountId: accountId }));
  const { policies = [], tags, packedPolicySize } = readSessionLimits(app, request);
  const seconds = ownSeconds(caller, durationSeconds);
  const principal = { kind: "federated", accessKeyId, name } as const;
  const session = { accountId, principal, policies, ...(tags === undefined ? {} : { tags }) };
  return {
    credentials: issue(app, session, seconds),
    federatedUser: { federatedUserId: `${accountId}:${name}`, arn },
    ...(packedPolicySize === undefined ? {} : { packedPolicySize }),
  };
};

/** Says whose an access key is. Refuses, in this order: ACCESS_DENIED, NO_SUCH_ENTITY. */
export const getAccessKeyInfo = async (
  request: GetAccessKeyInfoRequest,
  context: Context,
): Promise<MessageInitShape<typeof GetAccessKeyInfoResponseSchema>> => {
  const { app, caller } = context;
  const { accessKeyId = "" } = request;
  await decideOwnCall(context, request, () => {
    throw new Error("keys are no resources of policies");
  });
  // Nothing is kept of temporary keys; their owner shows one with each request.
  const account = accessKeyId === caller.accessKeyId ? caller.accountId : app.directory.findAccountOfKey(accessKeyId);
  if (account === undefined) throw fault(ErrorReason.NO_SUCH_ENTITY, { kind: "access key", entity: accessKeyId });
  return { account };
};

const ownSeconds = ({ isRoot }: Caller, asked: number | undefined): number => {
  const seconds = asked ?? (isRoot ? rootSecondsMax : userSecondsDefault);
  if (isRoot && seconds > rootSecondsMax) throw fault(ErrorReason.SESSION_DURATION, { limit: String(rootSecondsMax) });
  return seconds;
};

const roleOf = (call: RecordedCall, outcome: AssumeRoleOutcome, action: string, roleArn: string): Role => {
  if ("refusal" in outcome) throw denied(call, action, roleArn, outcome.refusal);
  return outcome.role;
};

const secondsOf = (asked: number | undefined, role: Role, isChained: boolean): number => {
  const ofRole = role.sessionSecondsMax ?? secondsDefault;
  const limit = isChained ? Math.min(chainedSecondsMax, ofRole) : ofRole;
  if (asked !== undefined && asked > limit) throw fault(ErrorReason.SESSION_DURATION, { limit: String(limit) });
  return asked ?? Math.min(secondsDefault, limit);
};

const timeConditions = ({ clock }: Application): (readonly [string, readonly string[]])[] => [
  ["aws:currenttime", [new Date(clock.now()).toISOString()]],
  ["aws:epochtime", [String(Math.floor(clock.now() / 1000))]],
];

/** The tags that follow from the caller's session into the next one. */
const transitiveTagsOf = ({ principalTags = {}, transitiveTagKeys = [] }: Caller): Record<string, string> =>
  Object.fromEntries(
    transitiveTagKeys.flatMap((key) => (key in principalTags ? [[key, principalTags[key] ?? ""]] : [])),
  );

const issueRoleSession = (
  app: Application,
  role: Role,
  sessionName: string,
  seconds: number,
  further: Pick<Session, "policies" | "tags" | "transitiveTagKeys" | "sourceIdentity">,
) => {
  const { accountId, name } = role;
  const id = roleIdOf(role);
  const { policies, tags, transitiveTagKeys, sourceIdentity } = further;
  const session = {
    accountId,
    principal: { kind: "role", name, id, sessionName } as const,
    ...(policies === undefined ? {} : { policies }),
    ...(tags === undefined ? {} : { tags }),
    ...(transitiveTagKeys === undefined ? {} : { transitiveTagKeys }),
    ...(sourceIdentity === undefined ? {} : { sourceIdentity }),
  };
  return {
    credentials: issue(app, session, seconds),
    assumedRoleUser: {
      assumedRoleId: `${id}:${sessionName}`,
      arn: `arn:aws:sts::${accountId}:assumed-role/${name}/${sessionName}`,
    },
  };
};

type Issued = Omit<Session, "accessKeyId" | "secretAccessKey" | "issuedMs" | "expiresMs">;

const issue = (
  { clock, ids, sessionTokens }: Application,
  session: Issued,
  seconds: number,
): MessageInitShape<typeof CredentialsSchema> => {
  const accessKeyId = temporaryKeyPrefix + ids.token(16, idAlphabet);
  const secretAccessKey = ids.token(40);
  const issuedMs = clock.now();
  const expiresMs = issuedMs + seconds * 1000;
  return {
    accessKeyId,
    secretAccessKey,
    sessionToken: sessionTokens.write({ ...session, accessKeyId, secretAccessKey, issuedMs, expiresMs }),
    expiration: timestampFromMs(expiresMs),
  };
};

const roleIdOf = (role: Pick<Role, "id" | "arn">): string => role.id ?? derivedPrincipalId("AROA", role.arn);

const userIdOf = ({ directory }: Application, caller: Caller): string => {
  if (caller.isRoot) return caller.accountId;
  if (caller.federatedBy !== undefined)
    return `${caller.accountId}:${caller.principalArn.slice(caller.principalArn.lastIndexOf("/") + 1)}`;
  const session = /:assumed-role\/([^/]+)\/([^/]+)$/.exec(caller.principalArn);
  if (session === null) {
    const name = caller.principalArn.replace(/^.*:user\//, "");
    return directory.findUser(caller.accountId, name)?.id ?? derivedPrincipalId("AIDA", caller.principalArn);
  }
  const [, name = "", sessionName = ""] = session;
  const { accountId, rolePath: path } = caller;
  const arn = entityArn(accountId, "role", path === undefined ? { name } : { name, path });
  return `${roleIdOf(directory.findRoleByName(accountId, name) ?? { arn })}:${sessionName}`;
};
