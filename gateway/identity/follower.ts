import type { KeyObject } from "node:crypto";

import { createClient } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";

import type { AccessKeyRecord } from "../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { WatchIdentitiesResponse } from "../../gen/quartet/identity/v1/replication_service_pb.ts";
import { ReplicationService } from "../../gen/quartet/identity/v1/replication_service_pb.ts";
import { follow } from "../../services/kit/client/follow.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import { defaultAccountId } from "../../services/kit/identity/access-keys.ts";
import { rootCaller } from "../../services/kit/identity/caller.ts";
import type { Minter } from "../../services/kit/identity/tokens.ts";
import { secretKey } from "../../services/kit/keyring/sealed.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { AccountState, Change } from "./domain/account-state.ts";
import { emptyState, stateAfter } from "./domain/account-state.ts";
import type { IdentityStates } from "./identities.ts";
import { readChange } from "./replication.ts";

/** The identities that another gateway keeps. */
export interface FollowedIdentities extends IdentityStates {
  /** The keys of session tokens; none until the keeper has sent one. */
  sessionKeys(): readonly KeyObject[];
  /** Waits until all were received once, but no longer than this time in milliseconds. */
  awaitFirst(limitMs: number): Promise<void>;
  stop(): Promise<void>;
}

export interface FollowOptions {
  readonly transport: Transport;
  readonly minter: Minter;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Followed {
  readonly states: Map<string, AccountState>;
  readonly accountsOfKeys: Map<string, string>;
  readonly secrets: WeakMap<AccessKeyRecord, string>;
}

const nothing = (): Followed => ({ states: new Map(), accountsOfKeys: new Map(), secrets: new WeakMap() });

/**
 * Follows the identities of the gateway that keeps them. When nothing was heard of it for 30 seconds, or not yet, the
 * lookups throw BUSY: what was taken away meanwhile must not be used.
 */
export const followIdentities = ({ transport, minter, clock, log }: FollowOptions): FollowedIdentities => {
  let followed = nothing();
  let sessionKeys: readonly KeyObject[] = [];
  const client = createClient(ReplicationService, transport);
  const caller = { ...rootCaller(defaultAccountId), isPreauthorized: true };

  const following = follow<WatchIdentitiesResponse>({
    clock,
    log,
    what: "identities of the gateway that keeps them",
    open: async (signal) => {
      const token = await minter.mint(caller, "identity");
      return client.watchIdentities({}, { signal, headers: { authorization: `Bearer ${token}` } });
    },
    receiver: () => {
      const next = nothing();
      return (message) => {
        apply(next, message);
        if (!message.isComplete) return false;
        followed = next;
        if (message.sessionKey.length > 0) sessionKeys = [secretKey(Uint8Array.from(message.sessionKey))];
        return true;
      };
    },
  });

  const fresh = (): Followed => {
    if (!following.isCurrent()) throw refusal(ErrorReason.BUSY);
    return followed;
  };
  return {
    state: (accountId) => fresh().states.get(accountId) ?? emptyState,
    accountIds: () => [...fresh().states.keys()].toSorted(),
    accountOfKey: (accessKeyId) => fresh().accountsOfKeys.get(accessKeyId),
    secretOf: (_accountId, _accessKeyId, record) => fresh().secrets.get(record),
    sessionKeys: () => sessionKeys,
    awaitFirst: (limitMs) => following.awaitFirst(limitMs),
    stop: () => following.stop(),
  };
};

const apply = ({ states, accountsOfKeys, secrets }: Followed, { changes }: WatchIdentitiesResponse): void => {
  const byAccount = new Map<string, Change[]>();
  for (const each of changes) {
    const change = readChange(each);
    if (change === undefined) continue;
    const ofAccount = byAccount.get(each.accountId);
    if (ofAccount === undefined) byAccount.set(each.accountId, [change]);
    else ofAccount.push(change);
    if (change.kind !== "accessKey") continue;
    if (change.record === undefined) accountsOfKeys.delete(change.name);
    else {
      accountsOfKeys.set(change.name, each.accountId);
      secrets.set(change.record, each.secret);
    }
  }
  for (const [accountId, ofAccount] of byAccount)
    states.set(accountId, stateAfter(states.get(accountId) ?? emptyState, ofAccount));
};
