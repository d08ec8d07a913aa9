import type { JWTPayload } from "jose";
import { decodeJwt, errors, jwtVerify } from "jose";

import type { IdentityProvider } from "../../services/kit/accounts/accounts.ts";
import { providerName } from "../../services/kit/accounts/provider-arn.ts";
import { parseArn } from "../../services/kit/arn/arn.ts";
import type { Application } from "./application.ts";
import { ErrorReason, fault } from "../identity/faults.ts";

/** Who a token of an identity provider speaks of. */
export interface WebIdentity {
  readonly provider: IdentityProvider;
  readonly subject: string;
  readonly audience: string;
  /** The claims as condition keys, lower case: `<host and path of the issuer>:sub`, `:aud`, `:amr`, `:azp`. */
  readonly conditions: ReadonlyMap<string, readonly string[]>;
}

/** Characters of an issuer that a refusal shows. */
const shownLengthMax = 1_024;

const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

/**
 * Reads a token of a provider that the role's account trusts. Throws, in this order, INVALID_IDENTITY_TOKEN for a text
 * that is no token and for an issuer of which the account has no provider, PROVIDER_UNREACHABLE, INVALID_IDENTITY_TOKEN
 * for a wrong signature, EXPIRED_IDENTITY_TOKEN and REJECTED_IDENTITY for another audience or a missing subject.
 */
export const readWebIdentity = async (app: Application, token: string, roleArn: string): Promise<WebIdentity> => {
  const issuer = issuerOf(token);
  const provider = app.directory.findIdentityProvider(parseArn(roleArn)?.account ?? "", issuer);
  if (provider === undefined) {
    const shown = issuer.length <= shownLengthMax ? issuer : `${issuer.slice(0, shownLengthMax)}…`;
    throw invalid(`No OpenID Connect provider found in your account for ${shown}`);
  }

  const claims = await verify(app, token, provider);
  const { sub, aud, azp, amr } = claims;
  const audiences = typeof aud === "string" ? [aud] : (aud ?? []);
  const audience = audiences.find((each) => provider.audiences.includes(each));
  if (audience === undefined) throw fault(ErrorReason.REJECTED_IDENTITY, { problem: "Incorrect token audience." });
  if (sub === undefined || sub === "") throw fault(ErrorReason.REJECTED_IDENTITY, { problem: "It has no subject." });
  const prefix = providerName(issuer).toLowerCase();
  const conditions = new Map<string, readonly string[]>([
    [`${prefix}:sub`, [sub]],
    [`${prefix}:aud`, audiences],
    ["aws:federatedprovider", [provider.arn]],
    ...(typeof azp === "string" ? ([[`${prefix}:azp`, [azp]]] as const) : []),
    ...(isTexts(amr) ? ([[`${prefix}:amr`, amr]] as const) : []),
  ]);
  return { provider, subject: sub, audience, conditions };
};

const issuerOf = (token: string): string => {
  let issuer: unknown;
  try {
    issuer = decodeJwt(token).iss;
  } catch {
    throw invalid("It is not a JSON Web Token.");
  }
  if (typeof issuer !== "string") throw invalid("It names no issuer.");
  return issuer;
};

const verify = async (app: Application, token: string, provider: IdentityProvider): Promise<JWTPayload> => {
  try {
    const keys = await app.findProviderKeys(provider);
    const { payload } = await jwtVerify(token, keys, {
      issuer: provider.issuer,
      algorithms,
      currentDate: new Date(app.clock.now()),
      requiredClaims: ["exp"],
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw fault(ErrorReason.EXPIRED_IDENTITY_TOKEN);
    if (error instanceof errors.JOSEError && !(error instanceof errors.JWKSTimeout))
      throw invalid("Its signature or its times do not hold.");
    // What reading the keys has thrown.
    throw fault(ErrorReason.PROVIDER_UNREACHABLE, {}, { cause: error });
  }
};

const invalid = (problem: string): Error => fault(ErrorReason.INVALID_IDENTITY_TOKEN, { problem });

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");
