/**
 * The map of the gateway's store of identities, in byte order.
 *
 *    1  page_token_keys   name                     -> SecretKey (the kit's own table)
 *    2  data_keys         name                     -> DataKeyRecord
 *   10  accounts          account                  -> AccountRecord
 *   11  users             account, name            -> UserRecord
 *   12  groups            account, name            -> GroupRecord
 *   13  roles             account, name            -> RoleRecord
 *   14  policies          account, name            -> PolicyRecord
 *   15  access_keys       account, access key id   -> AccessKeyRecord
 *   16  identity_providers account, name          -> OpenIdConnectProviderRecord
 *   17  instance_profiles account, name           -> InstanceProfileRecord
 *   20  key_uses          account, access key id   -> KeyUseRecord
 *
 * Names are in lower case, because they are unique whatever their case; the records have them as they were given. All
 * but the last table are read whole when the store is opened. The numbers left out have never been used. A table that
 * is retired keeps its number and its line.
 */
import {
  AccessKeyRecordSchema,
  AccountRecordSchema,
  DataKeyRecordSchema,
  GroupRecordSchema,
  InstanceProfileRecordSchema,
  KeyUseRecordSchema,
  OpenIdConnectProviderRecordSchema,
  PolicyRecordSchema,
  RoleRecordSchema,
  UserRecordSchema,
} from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { pageTokenKeyTable } from "../../../services/kit/page-tokens/page-token-key.ts";
import { assertDistinct, defineTable, text } from "../../../services/kit/store/table.ts";

/**
 * The key of page tokens.
 * Sorted so that it is found by its name.
 *
 *     page_token_keys/"page-tokens"
 *     0001 706167652d746f6b656e7300
 */
export const pageTokenKeys = pageTokenKeyTable(1);

/**
 * Data keys, wrapped by the keyring: `secrets` seals the secrets of access keys, `sessions` the session tokens. After a
 * damaged one follow `secrets/2` and so on. Sorted so that each is found by its name.
 *
 *     data_keys/"secrets"
 *     0002 7365637265747300
 */
export const dataKeys = defineTable({
  number: 2,
  name: "data_keys",
  key: [text("name")],
  value: DataKeyRecordSchema,
});

/**
 * Accounts that were created at run time.
 * Sorted so that ListAccounts reads them in order of their ids.
 *
 *     accounts/"111122223333"
 *     000a 31313131323232323333333300
 */
export const accounts = defineTable({
  number: 10,
  name: "accounts",
  key: [text("account")],
  value: AccountRecordSchema,
});

/**
 * Users. Written with `access_keys` when a user is renamed.
 * Sorted so that the users of an account are read in order of their names.
 *
 *     users/"111122223333"/"alice"
 *     000b 31313131323232323333333300 616c69636500
 */
export const users = defineTable({
  number: 11,
  name: "users",
  key: [text("account"), text("name")],
  value: UserRecordSchema,
});

/**
 * Groups. Written with `users` when a group is deleted or its users change.
 * Sorted so that the groups of an account are read in order of their names.
 *
 *     groups/"111122223333"/"readers"
 *     000c 31313131323232323333333300 7265616465727300
 */
export const groups = defineTable({
  number: 12,
  name: "groups",
  key: [text("account"), text("name")],
  value: GroupRecordSchema,
});

/**
 * Roles.
 * Sorted so that the roles of an account are read in order of their names.
 *
 *     roles/"111122223333"/"clerk"
 *     000d 31313131323232323333333300 636c65726b00
 */
export const roles = defineTable({
  number: 13,
  name: "roles",
  key: [text("account"), text("name")],
  value: RoleRecordSchema,
});

/**
 * Managed policies.
 * Sorted so that the policies of an account are read in order of their names.
 *
 *     policies/"111122223333"/"read"
 *     000e 31313131323232323333333300 7265616400
 */
export const policies = defineTable({
  number: 14,
  name: "policies",
  key: [text("account"), text("name")],
  value: PolicyRecordSchema,
});

/**
 * Access keys.
 * Sorted so that the keys of an account are together.
 *
 *     access_keys/"111122223333"/"AKIAA"
 *     000f 31313131323232323333333300 414b49414100
 */
export const accessKeys = defineTable({
  number: 15,
  name: "access_keys",
  key: [text("account"), text("access_key_id")],
  value: AccessKeyRecordSchema,
});

/**
 * OpenID Connect providers, by their issuers without the scheme.
 * Sorted so that the providers of an account are together.
 *
 *     identity_providers/"111122223333"/"a.example"
 *     0010 31313131323232323333333300 612e6578616d706c6500
 */
export const identityProviders = defineTable({
  number: 16,
  name: "identity_providers",
  key: [text("account"), text("name")],
  value: OpenIdConnectProviderRecordSchema,
});

/**
 * Instance profiles.
 * Sorted so that the instance profiles of an account are together.
 *
 *     instance_profiles/"111122223333"/"web"
 *     0011 31313131323232323333333300 77656200
 */
export const instanceProfiles = defineTable({
  number: 17,
  name: "instance_profiles",
  key: [text("account"), text("name")],
  value: InstanceProfileRecordSchema,
});

/**
 * The last uses of access keys, also of keys that are declared elsewhere. Written a minute after a use at the latest.
 * Sorted so that each is found by its key.
 *
 *     key_uses/"111122223333"/"AKIAA"
 *     0014 31313131323232323333333300 414b49414100
 */
export const keyUses = defineTable({
  number: 20,
  name: "key_uses",
  key: [text("account"), text("access_key_id")],
  value: KeyUseRecordSchema,
});

/** Every table of this database. */
export const layout = [
  pageTokenKeys,
  dataKeys,
  accounts,
  users,
  groups,
  roles,
  policies,
  accessKeys,
  identityProviders,
  instanceProfiles,
  keyUses,
] as const;

assertDistinct(layout);
