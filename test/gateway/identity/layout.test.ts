import { describe, expect, test } from "vitest";

import {
  accessKeys,
  accounts,
  dataKeys,
  groups,
  identityProviders,
  instanceProfiles,
  keyUses,
  pageTokenKeys,
  policies,
  roles,
  users,
} from "../../../gateway/identity/store/layout.ts";
import { keyBytes } from "../../../services/kit/store/table.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const shop = "111122223333";
const shopHex = "31313131323232323333333300";

describe("the store of identities", () => {
  // the key, its bytes
  test.for<[string, Uint8Array, string]>([
    ["page_token_keys", keyBytes(pageTokenKeys, ["page-tokens"]), "0001706167652d746f6b656e7300"],
    ["data_keys", keyBytes(dataKeys, ["secrets"]), "00027365637265747300"],
    ["accounts", keyBytes(accounts, [shop]), `000a${shopHex}`],
    ["users", keyBytes(users, [shop, "alice"]), `000b${shopHex}616c69636500`],
    ["groups", keyBytes(groups, [shop, "readers"]), `000c${shopHex}7265616465727300`],
    ["roles", keyBytes(roles, [shop, "clerk"]), `000d${shopHex}636c65726b00`],
    ["policies", keyBytes(policies, [shop, "read"]), `000e${shopHex}7265616400`],
    ["access_keys", keyBytes(accessKeys, [shop, "AKIAA"]), `000f${shopHex}414b49414100`],
    ["identity_providers", keyBytes(identityProviders, [shop, "a.example"]), `0010${shopHex}612e6578616d706c6500`],
    ["instance_profiles", keyBytes(instanceProfiles, [shop, "web"]), `0011${shopHex}77656200`],
    ["key_uses", keyBytes(keyUses, [shop, "AKIAA"]), `0014${shopHex}414b49414100`],
  ])("%s have their bytes", ([, bytes, expected]) => {
    expect(hex(bytes)).toBe(expected);
  });

  test("sorts the users of an account by name, and before those of the next account", () => {
    const keys = [
      keyBytes(users, [shop, "a"]),
      keyBytes(users, [shop, "ab"]),
      keyBytes(users, [shop, "b"]),
      keyBytes(users, [shop, "\u00e9"]),
      keyBytes(users, ["111122223334", "a"]),
    ].map(hex);
    expect(keys.toSorted()).toEqual(keys);
  });
});
