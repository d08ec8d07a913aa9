import type { Accounts } from "../../services/kit/accounts/accounts.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import type { Ids } from "../../services/kit/ids/ids.ts";
import type { Pages } from "../../services/kit/page-tokens/pages.ts";
import type { CallContext } from "../../services/kit/server/handlers.ts";
import type { Identities } from "./identities.ts";
import type { KeyUses } from "./key-uses.ts";

/** Who the configuration file declares. */
export type DeclaredAccounts = Pick<
  Accounts,
  "list" | "listUsers" | "listRoles" | "listIdentityProviders" | "findOrganizationId" | "findAccessKey"
>;

/** What the identity service works with. */
export interface Application {
  readonly identities: Identities;
  readonly accounts: DeclaredAccounts;
  readonly keyUses: Pick<KeyUses, "find">;
  readonly pages: Pages;
  /** Whether providers of web identities may be reached without TLS. */
  readonly allowsHttpIssuers: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
}

export type Context = CallContext<Application>;
