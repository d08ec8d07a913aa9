import type { Accounts } from "../../services/kit/accounts/accounts.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import type { SessionTokens } from "../../services/kit/identity/session-tokens.ts";
import type { TokenKeyPair } from "../../services/kit/identity/tokens.ts";
import type { Ids } from "../../services/kit/ids/ids.ts";
import type { FindProviderKeys } from "./provider-keys.ts";

/** The lookups of the security token service over everybody there is. */
export interface SessionDirectory extends Pick<
  Accounts,
  "findRole" | "findRoleByName" | "findUser" | "canonicalUserId" | "findOrganizationId" | "findIdentityProvider"
> {
  /** The document of the managed policy with this ARN. */
  findPolicy(policyArn: string): string | undefined;
  /** The account of a lasting access key, also of an inactive one. */
  findAccountOfKey(accessKeyId: string): string | undefined;
}

/** What the security token service works with. */
export interface Application {
  readonly directory: SessionDirectory;
  readonly sessionTokens: SessionTokens;
  readonly findProviderKeys: FindProviderKeys;
  /** A P-384 key pair that signs the tokens which clients show to services. */
  readonly clientTokenKeys: TokenKeyPair;
  /** Whom those tokens may be for. */
  readonly audiences: readonly string[];
  readonly clock: Clock;
  readonly ids: Ids;
}
