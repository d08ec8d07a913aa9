import type { KeyObject } from "node:crypto";

import { ErrorReasonSchema } from "../../gen/quartet/identity/v1/error_reason_pb.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import type { SessionTokens } from "../../services/kit/identity/session-tokens.ts";
import { createSessionTokens } from "../../services/kit/identity/session-tokens.ts";
import { startRewrapping } from "../../services/kit/keyring/rewrapping.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import { createPageTokens, pageTokenKey } from "../../services/kit/page-tokens/page-tokens.ts";
import type { Pages } from "../../services/kit/page-tokens/pages.ts";
import { createPages } from "../../services/kit/page-tokens/pages.ts";
import type { Store } from "../../services/kit/store/store.ts";
import type { Identities } from "./identities.ts";
import { openIdentities } from "./identities.ts";
import type { KeyUses } from "./key-uses.ts";
import { openKeyUses } from "./key-uses.ts";
import { limits } from "./limits.ts";
import { openDataKeys, wrappedDataKeys } from "./store/data-keys.ts";
import { pageTokenKeys } from "./store/layout.ts";

export interface IdentityStoreOptions {
  readonly store: Store;
  /** The gateway's own directory, which holds the master keys. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The identities that this gateway keeps, and the tokens of its sessions. */
export interface OpenIdentityStore {
  readonly identities: Identities;
  readonly keyUses: KeyUses;
  readonly pages: Pages;
  readonly sessionTokens: SessionTokens;
  /** The key of the session tokens, for the gateways that follow this one. */
  readonly sessionKey: KeyObject;
  /** Ends background work. The store stays open. */
  stop(): Promise<void>;
}

/** Opens the keys and reads all identities. Throws MasterKeysError. */
export const openIdentityStore = async (options: IdentityStoreOptions): Promise<OpenIdentityStore> => {
  const { store, directory, clock, log } = options;
  const { keyring, secrets, sessions } = await openDataKeys(store, directory, clock, log);
  const identities = await openIdentities(store, secrets, log);
  const stopRewrapping = startRewrapping({ keyring, keys: wrappedDataKeys(store, keyring), clock, log });
  const keyUses = openKeyUses(store, clock, log);
  const key = await pageTokenKey(store, pageTokenKeys, log);
  return {
    identities,
    keyUses,
    pages: createPages({
      tokens: createPageTokens({ key, clock, lifetimeMs: limits.pageTokenLifetimeMs }),
      errors: ErrorReasonSchema,
      itemsDefault: limits.pageItemsDefault,
      bytesMax: limits.pageBytesMax,
    }),
    sessionTokens: createSessionTokens(() => sessions),
    sessionKey: sessions[0],
    stop: async () => {
      await stopRewrapping();
      await keyUses.stop();
    },
  };
};
