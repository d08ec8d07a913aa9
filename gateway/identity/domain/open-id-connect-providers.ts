import type { OpenIdConnectProviderRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { IdentityProvider } from "../../../services/kit/accounts/accounts.ts";
import { providerArn } from "../../../services/kit/accounts/provider-arn.ts";
import { parseArn } from "../../../services/kit/arn/arn.ts";
import type { AccountState } from "./account-state.ts";

/** Why a text cannot be an issuer, as a sentence; undefined: it can. `http` is accepted where `allowsHttp`. */
export const issuerProblem = (issuer: string, allowsHttp: boolean): string | undefined => {
  if (!issuer.startsWith("https://") && !(allowsHttp && issuer.startsWith("http://")))
    return "Invalid Open ID Connect Provider URL: it must begin with https://.";
  if (!URL.canParse(issuer) || /[\s\p{Cc}]/u.test(issuer)) return "Invalid Open ID Connect Provider URL.";
  const { search, hash, username, password } = new URL(issuer);
  return issuer.includes("?") || issuer.includes("#") || `${search}${hash}${username}${password}` !== ""
    ? "Invalid Open ID Connect Provider URL: it must have neither a query nor a fragment nor a user."
    : undefined;
};

/** The provider of an account that an ARN of any partition names. */
export const findProviderByArn = (
  accountId: string,
  state: AccountState,
  providersArn: string,
): OpenIdConnectProviderRecord | undefined => {
  const { account, service, resource = "" } = parseArn(providersArn) ?? {};
  const name = /^oidc-provider\/(.+)$/.exec(resource)?.[1];
  if (account !== accountId || service !== "iam" || name === undefined) return undefined;
  const found = state.identityProvider.get(name.toLowerCase());
  return found?.name === name ? found : undefined;
};

/** A provider as tokens are read with it. Its keys are found by discovery. */
export const identityProviderOf = (accountId: string, record: OpenIdConnectProviderRecord): IdentityProvider => ({
  accountId,
  arn: providerArn(accountId, record.issuer),
  issuer: record.issuer,
  audiences: record.clientIds,
});
