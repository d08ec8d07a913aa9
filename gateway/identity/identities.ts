import { create } from "@bufbuild/protobuf";

import type { AccessKeyRecord, GroupRecord, PolicyRecord } from "../../gen/quartet/identity/storage/v1/records_pb.ts";
import { GroupRecordSchema, PolicyRecordSchema } from "../../gen/quartet/identity/storage/v1/records_pb.ts";
import { PassingMap } from "../../services/kit/collections/passing-map.ts";
import type { SealContext } from "../../services/kit/keyring/sealed.ts";
import { seal, SealBrokenError, unseal } from "../../services/kit/keyring/sealed.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import type { Store } from "../../services/kit/store/store.ts";
import type { Table } from "../../services/kit/store/table.ts";
import { walkTable } from "../../services/kit/store/walk-table.ts";
import type { AccountState, Change, Decided, Kind } from "./domain/account-state.ts";
import { emptyState, stateAfter } from "./domain/account-state.ts";
import type { SealingKeys } from "./store/data-keys.ts";
import { denyingAll } from "./domain/documents.ts";
import {
  accessKeys,
  accounts,
  groups,
  identityProviders,
  instanceProfiles,
  policies,
  roles,
  users,
} from "./store/layout.ts";

/** Everything that was created at run time, as of now. */
export interface IdentityStates {
  /** The state of an account; an empty one if nothing was created in it. */
  state(accountId: string): AccountState;
  /** The accounts in which something was created, sorted. */
  accountIds(): readonly string[];
  /** The account of an access key. */
  accountOfKey(accessKeyId: string): string | undefined;
  /** The secret of an access key of a state; undefined: it cannot be opened any more. */
  secretOf(accountId: string, accessKeyId: string, record: AccessKeyRecord): string | undefined;
}

/** Changes of one account that were made together. */
export interface AccountChanges {
  readonly accountId: string;
  readonly changes: readonly Change[];
}

/** Receives the changes of an account, and what its state was before them. */
export type OnChange = (changed: AccountChanges, before: AccountState) => void;

/** The identities of the process that keeps them: all in memory, each change durable before it counts. */
export interface Identities extends IdentityStates {
  /**
   * Decides on the present state of an account and makes the changes, one decision after the other, so that none is
   * made on a state that another one is changing. Accounts do not wait for each other. What the decision throws changes
   * nothing.
   */
  change<T>(accountId: string, decide: (state: AccountState) => Decided<T>): Promise<T>;
  /** As `change`, one creation of an account after the other: the decision may look at all accounts. */
  createAccount<T>(accountId: string, decide: (state: AccountState) => Decided<T>): Promise<T>;
  /** Seals the secret of an access key, for its record. */
  sealSecret(accountId: string, accessKeyId: string, secret: string): Uint8Array;
  /**
   * Calls the function after each change, those of an account in their order, with the state before it. Returns the
   * function that ends this.
   */
  watch(onChange: OnChange): () => void;
}

/**
 * Reads all identities from the store. Damaged ones are logged and do not exist, but for groups and policies: whoever
 * has one of these may do nothing, because it may have denied something.
 */
export const openIdentities = async (
  store: Store,
  secretsKeys: SealingKeys,
  log: Pick<Logger, "error">,
): Promise<Identities> => {
  const states = new Map<string, AccountState>();
  const accountsOfKeys = new Map<string, string>();
  const secrets = new WeakMap<AccessKeyRecord, string | undefined>();
  const watchers = new Set<OnChange>();
  const inAccounts = new Turns();
  const creations = new Turns();

  const apply = ({ accountId, changes }: AccountChanges): void => {
    states.set(accountId, stateAfter(states.get(accountId) ?? emptyState, changes));
    for (const { kind, name, record } of changes) {
      if (kind !== "accessKey") continue;
      if (record === undefined) accountsOfKeys.delete(name);
      else accountsOfKeys.set(name, accountId);
    }
  };

  for (const changed of await readAll(store, log)) apply(changed);

  const make = async <T>(accountId: string, decide: (state: AccountState) => Decided<T>): Promise<T> => {
    const before = states.get(accountId) ?? emptyState;
    const { changes, result } = decide(before);
    if (changes.length === 0) return result;
    await store.transact((transaction) => {
      for (const { kind, name, record } of changes) {
        const key = kind === "account" ? [name] : [accountId, name];
        if (record === undefined) transaction.delete(tableOf(kind), key);
        else transaction.put(tableOf(kind), key, record);
      }
    });
    apply({ accountId, changes });
    for (const onChange of watchers) onChange({ accountId, changes }, before);
    return result;
  };
  const change: Identities["change"] = (accountId, decide) => inAccounts.run(accountId, () => make(accountId, decide));

  return {
    state: (accountId) => states.get(accountId) ?? emptyState,
    accountIds: () => [...states.keys()].toSorted(),
    accountOfKey: (accessKeyId) => accountsOfKeys.get(accessKeyId),
    secretOf: (accountId, accessKeyId, record) => {
      if (secrets.has(record)) return secrets.get(record);
      const secret = unsealedBy(secretsKeys, [accountId, accessKeyId], record.sealedSecret);
      if (secret === undefined) log.error({ accountId, accessKeyId }, "the secret of an access key is damaged");
      secrets.set(record, secret);
      return secret;
    },
    change,
    createAccount: (accountId, decide) => creations.run("", () => change(accountId, decide)),
    sealSecret: (accountId, accessKeyId, secret) => seal(secretsKeys[0], [accountId, accessKeyId], Buffer.from(secret)),
    watch: (onChange) => {
      watchers.add(onChange);
      return () => watchers.delete(onChange);
    },
  };
};

/** The text that one of the keys opens; undefined: none does. */
const unsealedBy = (keys: SealingKeys, context: SealContext, sealed: Uint8Array): string | undefined => {
  for (const key of keys)
    try {
      return unseal(key, context, sealed).toString("utf8");
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error;
    }
  return undefined;
};

const tables = {
  account: accounts,
  user: users,
  group: groups,
  role: roles,
  policy: policies,
  accessKey: accessKeys,
  identityProvider: identityProviders,
  instanceProfile: instanceProfiles,
};

/** The kinds share the form of their keys; the record belongs to its kind by construction. */
const tableOf = (kind: Kind): Table<readonly string[]> => tables[kind];

/** Does work one after the other for each name. */
class Turns {
  readonly #last = new PassingMap<string, Promise<unknown>>();

  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const ended = done
      .catch(() => undefined)
      .then(() => {
        if (this.#last.get(name) === ended) this.#last.delete(name);
      });
    this.#last.set(name, ended);
    return done;
  }
}

/** All records of each account together, because each change of a state copies what it has. */
const readAll = (store: Store, log: Pick<Logger, "error">): Promise<AccountChanges[]> =>
  store.read(async (reader) => {
    const all = new Map<string, Change[]>();
    for (const kind of Object.keys(tables) as Kind[])
      for await (const { key, value } of walkTable(reader, tableOf(kind))) {
        const [accountId = "", name = accountId] = key;
        if (value === undefined) log.error({ accountId, kind, name }, "an identity is damaged");
        const record = value ?? standIn(kind, name);
        if (record === undefined) continue;
        const change = { kind, name, record } as unknown as Change;
        const known = all.get(accountId);
        if (known === undefined) all.set(accountId, [change]);
        else known.push(change);
      }
    return [...all].map(([accountId, changes]) => ({ accountId, changes }));
  });

/** What a damaged record counts as; undefined: as none. */
const standIn = (kind: Kind, name: string): GroupRecord | PolicyRecord | undefined => {
  if (kind === "group")
    return create(GroupRecordSchema, { name, path: "/", policies: { inline: { damaged: denyingAll } } });
  if (kind !== "policy") return undefined;
  const versions = [{ number: 1, document: denyingAll }];
  return create(PolicyRecordSchema, { name, path: "/", versions, defaultVersion: 1, lastVersion: 1 });
};
