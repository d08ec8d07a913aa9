import { createSecretKey, generateKeyPairSync } from "node:crypto";

import { exportJWK, SignJWT } from "jose";

import { create } from "@bufbuild/protobuf";

import { SecurityTokenService } from "../../../gen/quartet/identity/v1/security_token_service_pb.ts";
import { createDirectory } from "../../../gateway/identity/directory.ts";
import type { Application } from "../../../gateway/sts/application.ts";
import { createProviderKeys } from "../../../gateway/sts/provider-keys.ts";
import type { FindProviderKeys } from "../../../gateway/sts/provider-keys.ts";
import { securityTokenHandlers } from "../../../gateway/sts/service.ts";
import type { Declared, Role } from "../../../services/kit/accounts/accounts.ts";
import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import { parseTrustPolicy } from "../../../services/kit/accounts/trust-policy.ts";
import type { AuditEntry, AuditLog } from "../../../services/kit/audit/audit-log.ts";
import { fixedAccessKeys } from "../../../services/kit/identity/access-keys.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { createSessionTokens } from "../../../services/kit/identity/session-tokens.ts";
import { createAddressGuard } from "../../../services/kit/network/address-guard.ts";
import type { CallContext } from "../../../services/kit/server/handlers.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { fixedIds } from "../../support/fixed-ids.ts";
import { silentLogger } from "../../support/silent-logger.ts";

export const shop = "111122223333";
export const bank = "444455556666";
export const issuer = "https://login.example.com/shop";

const statement = (more: object) =>
  JSON.stringify({ Version: "2012-10-17", Statement: [{ Effect: "Allow", ...more }] });

/** A policy that allows an action on a resource. */
export const allowing = (action: string | string[], resource = "*") =>
  statement({ Action: action, Resource: resource });

/** A trust policy for a principal. */
export const trusting = (principal: object, action: string | string[] = "sts:AssumeRole", condition?: object) =>
  statement({ Principal: principal, Action: action, ...(condition && { Condition: condition }) });

export const role = (name: string, trustPolicy: string, more: Partial<Role> = {}): Role => ({
  accountId: shop,
  name,
  arn: `arn:aws:iam::${shop}:role/${name}`,
  trustPolicy: parseTrustPolicy(trustPolicy),
  policies: [allowing("s3:GetObject")],
  ...more,
});

const providerPair = generateKeyPairSync("ec", { namedCurve: "P-256" });
export const providerKey = { ...(await exportJWK(providerPair.publicKey)), kid: "one", alg: "ES256" };

/** A token of the identity provider; what is left out is as it should be. */
export const webToken = (claims: Record<string, unknown> = {}, privateKey = providerPair.privateKey): Promise<string> =>
  new SignJWT({ iss: issuer, sub: "repo:shop/web", aud: "quartet", exp: 1_767_323_645, ...claims })
    .setProtectedHeader({ alg: "ES256", kid: "one" })
    .sign(privateKey);

/** Everything that the service knows; unset parts are empty. */
export const openSts = (
  declared: Partial<Declared>,
  findProviderKeys: FindProviderKeys = createProviderKeys(createAddressGuard(true), new FakeClock()),
) => {
  const clock = new FakeClock();
  const whole = { accounts: [], users: [], roles: [], organizations: new Map(), accessKeys: [], ...declared };
  const sessionTokens = createSessionTokens(() => [createSecretKey(Buffer.alloc(32, 7))]);
  const parts = { roles: [...whole.roles] };
  const directory = createDirectory({
    accounts: {
      ...accountsOf(whole),
      findRoleByName: (accountId, name) => accountsOf({ ...whole, roles: parts.roles }).findRoleByName(accountId, name),
    },
    declaredKeys: fixedAccessKeys(whole.accessKeys),
    stored: {
      findUser: () => undefined,
      findRoleByName: () => undefined,
      findAccessKey: () => undefined,
      findIdentityProvider: () => undefined,
      findAccountOfKey: (accessKeyId) => (accessKeyId === "QKIAINACTIVEKEYOFBANK" ? bank : undefined),
      findPolicy: (arn) => (arn === `arn:aws:iam::${shop}:policy/read` ? allowing("s3:GetObject") : undefined),
    },
    sessionTokens,
    clock,
  });
  const clientTokenKeys = { name: "client-tokens", ...generateKeyPairSync("ec", { namedCurve: "P-384" }) };
  const app: Application = {
    directory,
    sessionTokens,
    findProviderKeys,
    clientTokenKeys,
    audiences: ["object-storage", "event-bus", "gateway"],
    clock,
    ids: fixedIds(),
  };
  const recorded: AuditEntry[] = [];
  const audit: AuditLog = { record: (entry) => void recorded.push(entry) };
  const call = async (name: keyof (typeof SecurityTokenService)["method"], caller: Caller, request: object) => {
    const method = SecurityTokenService.method[name];
    const handler = securityTokenHandlers[name] as (request: unknown, context: CallContext<Application>) => unknown;
    const context = { app, method, caller, audit, log: silentLogger } as unknown as CallContext<Application>;
    return (await handler(create(method.input, request), context)) as Record<string, unknown>;
  };
  return { clock, directory, sessionTokens, clientTokenKeys, call, parts, recorded };
};
