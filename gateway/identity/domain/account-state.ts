import type {
  AccessKeyRecord,
  AccountRecord,
  GroupRecord,
  InstanceProfileRecord,
  OpenIdConnectProviderRecord,
  PolicyRecord,
  RoleRecord,
  UserRecord,
} from "../../../gen/quartet/identity/storage/v1/records_pb.ts";

/** The records of one account by kind. */
interface Records {
  readonly account: AccountRecord;
  readonly user: UserRecord;
  readonly group: GroupRecord;
  readonly role: RoleRecord;
  readonly policy: PolicyRecord;
  readonly accessKey: AccessKeyRecord;
  readonly identityProvider: OpenIdConnectProviderRecord;
  readonly instanceProfile: InstanceProfileRecord;
}

export type Kind = keyof Records;

/**
 * Everything that was created at run time in one account, by names in lower case, access keys by their ids, and the
 * account itself by its id. Never changed: a change makes another state.
 */
export type AccountState = { readonly [K in Kind]: ReadonlyMap<string, Records[K]> };

/** One record that is written, or deleted if there is none. */
export type Change = {
  [K in Kind]: { readonly kind: K; readonly name: string; readonly record: Records[K] | undefined };
}[Kind];

/** The changes that a decision makes, and its result. */
export interface Decided<T> {
  readonly changes: readonly Change[];
  readonly result: T;
}

export const emptyState: AccountState = {
  account: new Map(),
  user: new Map(),
  group: new Map(),
  role: new Map(),
  policy: new Map(),
  accessKey: new Map(),
  identityProvider: new Map(),
  instanceProfile: new Map(),
};

/** The state after the changes. */
export const stateAfter = (state: AccountState, changes: readonly Change[]): AccountState => {
  const next: Partial<Record<Kind, Map<string, unknown>>> = {};
  for (const { kind, name, record } of changes) {
    const records = (next[kind] ??= new Map<string, unknown>(state[kind]));
    if (record === undefined) records.delete(name);
    else records.set(name, record);
  }
  return { ...state, ...(next as Partial<AccountState>) };
};
