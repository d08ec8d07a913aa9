/**
 * Who may do what in a bucket whose owner owns all objects, so that no ACL counts.
 * Each row is a caller, each column an operation of `grid.ts`: `+` may, `-` access denied, `4` no such key, `5` method
 * not allowed. Columns, in groups of three:
 *
 *     list, read mine, read open | read bobs, read what is not there, tags of mine | put, put with an ACL, copy open |
 *     delete mine, delete bobs, ACL of mine | set ACL of mine, set ACL of bobs, bucket's ACL | set it, policy, set it
 */
import { expect, test } from "vitest";

import { alice, bob } from "../harness.ts";
import type { GridBucket } from "./grid.ts";
import { gridOf } from "./grid.ts";

const everybody = { Effect: "Allow", Principal: "*" };
const get = { ...everybody, Action: "s3:GetObject" };
const forBob = { Effect: "Allow", Principal: { AWS: bob }, Action: "s3:*" };

test.each<readonly [string, GridBucket, readonly string[]]>([
  // the bucket in words, its state, who may do what
  [
    "private, no policy",
    { ownership: "BucketOwnerEnforced", acl: "private" },
    [
      "root     +++ +4+ +++ +++ +++ +++",
      "poor     --- --- --- --- --- ---",
      "rich     +++ +4+ +++ +++ +++ +++",
      "role     +++ +4- --- --- --- ---",
      "bob      --- --- --- --- --- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich --- --- --- --- --- ---",
      "nobody   --- --- --- --- --- ---",
    ],
  ],
  [
    "a policy lets everybody read",
    { ownership: "BucketOwnerEnforced", acl: "private", policy: [get] },
    [
      "root     +++ +4+ +++ +++ +++ +++",
      "poor     -++ +-- --- --- --- ---",
      "rich     +++ +4+ +++ +++ +++ +++",
      "role     +++ +4- --- --- --- ---",
      "bob      -++ +-- --- --- --- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich -++ +-- --- --- --- ---",
      "nobody   -++ +-- --- --- --- ---",
    ],
  ],
  [
    "that policy, and public buckets are restricted",
    { ownership: "BucketOwnerEnforced", acl: "private", policy: [get], block: { restrictPublicBuckets: true } },
    [
      "root     +++ +4+ +++ +++ +++ +++",
      "poor     -++ +-- --- --- --- ---",
      "rich     +++ +4+ +++ +++ +++ +++",
      "role     +++ +4- --- --- --- ---",
      "bob      --- --- --- --- --- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich --- --- --- --- --- ---",
      "nobody   --- --- --- --- --- ---",
    ],
  ],
  [
    "a policy denies everybody reading",
    { ownership: "BucketOwnerEnforced", acl: "private", policy: [{ ...get, Effect: "Deny" }] },
    [
      "root     +-- --+ ++- +++ +++ +++",
      "poor     --- --- --- --- --- ---",
      "rich     +-- --+ ++- +++ +++ +++",
      "role     +-- --- --- --- --- ---",
      "bob      --- --- --- --- --- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich --- --- --- --- --- ---",
      "nobody   --- --- --- --- --- ---",
    ],
  ],
  [
    "a policy denies everybody everything",
    { ownership: "BucketOwnerEnforced", acl: "private", policy: [{ Effect: "Deny", Principal: "*", Action: "s3:*" }] },
    [
      "root     --- --- --- --- --- -++",
      "poor     --- --- --- --- --- ---",
      "rich     --- --- --- --- --- ---",
      "role     --- --- --- --- --- ---",
      "bob      --- --- --- --- --- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich --- --- --- --- --- ---",
      "nobody   --- --- --- --- --- ---",
    ],
  ],
  [
    "a policy lets the other account do everything",
    { ownership: "BucketOwnerEnforced", acl: "private", policy: [forBob] },
    [
      "root     +++ +4+ +++ +++ +++ +++",
      "poor     --- --- --- --- --- ---",
      "rich     +++ +4+ +++ +++ +++ +++",
      "role     +++ +4- --- --- --- ---",
      "bob      +++ +4+ +++ +++ +++ +5+",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich +++ +4+ +++ +++ +++ +5+",
      "nobody   --- --- --- --- --- ---",
    ],
  ],
  [
    "that policy and one for everybody, and public buckets are restricted",
    { ownership: "BucketOwnerEnforced", acl: "private", policy: [forBob, get], block: { restrictPublicBuckets: true } },
    [
      "root     +++ +4+ +++ +++ +++ +++",
      "poor     -++ +-- --- --- --- ---",
      "rich     +++ +4+ +++ +++ +++ +++",
      "role     +++ +4- --- --- --- ---",
      "bob      --- --- --- --- --- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich --- --- --- --- --- ---",
      "nobody   --- --- --- --- --- ---",
    ],
  ],
  [
    "a policy lets everybody upload",
    { ownership: "BucketOwnerEnforced", acl: "private", policy: [{ ...everybody, Action: "s3:PutObject" }] },
    [
      "root     +++ +4+ +++ +++ +++ +++",
      "poor     --- --- +-- --- --- ---",
      "rich     +++ +4+ +++ +++ +++ +++",
      "role     +++ +4- +-+ --- --- ---",
      "bob      --- --- +-- --- --- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich --- --- +-- --- --- ---",
      "nobody   --- --- +-- --- --- ---",
    ],
  ],
  [
    "a policy lets one user read and denies the other account everything",
    {
      ownership: "BucketOwnerEnforced",
      acl: "private",
      policy: [
        { ...get, Principal: { AWS: `arn:aws:iam::${alice}:user/carol` } },
        { ...forBob, Effect: "Deny" },
      ],
    },
    [
      "root     +++ +4+ +++ +++ +++ +++",
      "poor     -++ +-- --- --- --- ---",
      "rich     +++ +4+ +++ +++ +++ +++",
      "role     +++ +4- --- --- --- ---",
      "bob      --- --- --- --- --- ---",
      "bobsPoor --- --- --- --- --- ---",
      "bobsRich --- --- --- --- --- ---",
      "nobody   --- --- --- --- --- ---",
    ],
  ],
])("without ACLs: %s", async (_words, state, expected) => {
  expect(await gridOf(state)).toEqual(expected);
});
