/**
 * Who may do what in a bucket in which ACLs count, and writers own what they write.
 * Each row is a caller, each column an operation of `grid.ts`: `+` may, `-` access denied, `4` no such key, `5` method
 * not allowed. Columns, in groups of three:
 *
 *     list, read mine, read open | read bobs, read what is not there, tags of mine | put, put with an ACL, copy open |
 *     delete mine, delete bobs, ACL of mine | set ACL of mine, set ACL of bobs, bucket's ACL | set it, policy, set it
 */
import { expect, test } from "vitest";

import { bob } from "../harness.ts";
import type { GridBucket } from "./grid.ts";
import { gridOf } from "./grid.ts";

const get = { Effect: "Allow", Principal: "*", Action: "s3:GetObject" };
const forBob = { Effect: "Allow", Principal: { AWS: bob }, Action: "s3:*" };
const toBob = "id=bd495abc53de72e7cc26aed6d56f6e8e32fb3efd7d0bf0e55b9e766e6173aeef";

test.each<readonly [string, GridBucket, readonly string[]]>([
  // the bucket in words, its state, who may do what
  [
    "private",
    { ownership: "ObjectWriter", acl: "private" },
    [
      "root     +++ -4+ +++ +++ +-+ +++",
      "poor     --+ --- --- --- --- ---",
      "rich     +++ -4+ +++ +++ +-+ +++",
      "role     +++ -4- --- --- --- ---",
      "bob      --+ +-- --- --- -+- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich --+ +-- --- --- -+- ---",
      "nobody   --+ --- --- --- --- ---",
    ],
  ],
  [
    "public-read",
    { ownership: "ObjectWriter", acl: "public-read" },
    [
      "root     +++ -4+ +++ +++ +-+ +++",
      "poor     +-+ -4- --- --- --- ---",
      "rich     +++ -4+ +++ +++ +-+ +++",
      "role     +++ -4- --- --- --- ---",
      "bob      +-+ +4- --- --- -+- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich +-+ +4- --- --- -+- ---",
      "nobody   +-+ -4- --- --- --- ---",
    ],
  ],
  [
    "public-read, and public ACLs are ignored",
    { ownership: "ObjectWriter", acl: "public-read", block: { ignorePublicAcls: true } },
    [
      "root     +++ -4+ +++ +++ +-+ +++",
      "poor     --- --- --- --- --- ---",
      "rich     +++ -4+ +++ +++ +-+ +++",
      "role     +++ -4- --- --- --- ---",
      "bob      --- +-- --- --- -+- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich --- +-- --- --- -+- ---",
      "nobody   --- --- --- --- --- ---",
    ],
  ],
  [
    "public-read, and everything but existing ACLs is blocked",
    {
      ownership: "ObjectWriter",
      acl: "public-read",
      block: { blockPublicAcls: true, blockPublicPolicy: true, restrictPublicBuckets: true },
    },
    [
      "root     +++ -4+ +++ +++ +-+ +++",
      "poor     +-+ -4- --- --- --- ---",
      "rich     +++ -4+ +++ +++ +-+ +++",
      "role     +++ -4- --- --- --- ---",
      "bob      +-+ +4- --- --- -+- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich +-+ +4- --- --- -+- ---",
      "nobody   +-+ -4- --- --- --- ---",
    ],
  ],
  [
    "public-read-write",
    { ownership: "ObjectWriter", acl: "public-read-write" },
    [
      "root     +++ -4+ +++ +++ +-+ +++",
      "poor     +-+ -4- +-+ ++- --- ---",
      "rich     +++ -4+ +++ +++ +-+ +++",
      "role     +++ -4- +-+ ++- --- ---",
      "bob      +-+ +4- +++ ++- -+- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich +-+ +4- +++ ++- -+- ---",
      "nobody   +-+ -4- +-- ++- --- ---",
    ],
  ],
  [
    "authenticated-read",
    { ownership: "ObjectWriter", acl: "authenticated-read" },
    [
      "root     +++ -4+ +++ +++ +-+ +++",
      "poor     +-+ -4- --- --- --- ---",
      "rich     +++ -4+ +++ +++ +-+ +++",
      "role     +++ -4- --- --- --- ---",
      "bob      +-+ +4- --- --- -+- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich +-+ +4- --- --- -+- ---",
      "nobody   --+ --- --- --- --- ---",
    ],
  ],
  [
    "full control of the other account",
    { ownership: "ObjectWriter", acl: { grantFullControl: toBob } },
    [
      "root     +++ -4+ +++ +++ +-+ +++",
      "poor     --+ --- --- --- --- ---",
      "rich     +++ -4+ +++ +++ +-+ +++",
      "role     +++ -4- --- --- --- ---",
      "bob      +-+ +4- +++ ++- -++ +--",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich +-+ +4- +++ ++- -++ +--",
      "nobody   --+ --- --- --- --- ---",
    ],
  ],
  [
    "the other account may write and read the ACL",
    { ownership: "BucketOwnerPreferred", acl: { grantWrite: toBob, grantReadAcp: toBob } },
    [
      "root     +++ -4+ +++ +++ +-+ +++",
      "poor     --+ --- --- --- --- ---",
      "rich     +++ -4+ +++ +++ +-+ +++",
      "role     +++ -4- --- --- --- ---",
      "bob      --+ +-- +++ ++- -++ ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich --+ +-- +++ ++- -++ ---",
      "nobody   --+ --- --- --- --- ---",
    ],
  ],
  [
    "public-read, and a policy lets everybody read",
    { ownership: "BucketOwnerPreferred", acl: "public-read", policy: [get] },
    [
      "root     +++ -4+ +++ +++ +-+ +++",
      "poor     +++ -4- --- --- --- ---",
      "rich     +++ -4+ +++ +++ +-+ +++",
      "role     +++ -4- --- --- --- ---",
      "bob      +++ +4- --- --- -+- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich +++ +4- --- --- -+- ---",
      "nobody   +++ -4- --- --- --- ---",
    ],
  ],
  [
    "public-read-write, and a policy denies reading",
    { ownership: "ObjectWriter", acl: "public-read-write", policy: [{ ...get, Effect: "Deny" }] },
    [
      "root     +-- --+ ++- +++ +-+ +++",
      "poor     +-- --- +-- ++- --- ---",
      "rich     +-- --+ ++- +++ +-+ +++",
      "role     +-- --- +-- ++- --- ---",
      "bob      +-- --- ++- ++- -+- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich +-- --- ++- ++- -+- ---",
      "nobody   +-- --- +-- ++- --- ---",
    ],
  ],
  [
    "private after the controls were deleted, a policy for the other account",
    { ownership: "deleted", acl: "private", policy: [forBob], block: { ignorePublicAcls: true } },
    [
      "root     +++ -4+ +++ +++ +-+ +++",
      "poor     --- --- --- --- --- ---",
      "rich     +++ -4+ +++ +++ +-+ +++",
      "role     +++ -4- --- --- --- ---",
      "bob      +++ +4+ +++ +++ +++ +5+",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich +++ +4+ +++ +++ +++ +5+",
      "nobody   --- --- --- --- --- ---",
    ],
  ],
])("with ACLs: %s", async (_words, state, expected) => {
  expect(await gridOf(state)).toEqual(expected);
});
