/**
 * The grid of access to object storage: how each caller's call of each operation ends in a bucket of some ownership,
 * ACL, policy and public access block. Nothing here knows what the outcome is to be; the tables of the tests do.
 */
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, roleCaller } from "../../../services/kit/identity/caller.ts";
import type { Application } from "../../../services/object-storage/application.ts";
import { alice, startHarness } from "../harness.ts";
import { admissionOf, aliceRoot, bobRoot, outcomeOf, policyOf, usersOfAlice, usersOfBob } from "./in-process.ts";

const all = { Effect: "Allow", Action: "s3:*", Resource: "*" };
const reading = { Effect: "Allow", Action: ["s3:GetObject", "s3:ListBucket"], Resource: "*" };

/** The callers, in the order of the tables' rows. */
const callers = {
  /** The root of Alice's account, which owns the bucket. */
  root: aliceRoot,
  /** A user of Alice's account without a policy. */
  poor: usersOfAlice(),
  /** A user of Alice's account who may do everything with object storage. */
  rich: usersOfAlice(all),
  /** A session of a role of Alice's account that may read objects and list buckets. */
  role: roleCaller(alice, "reader", "nightly", [policyOf(reading)]),
  /** The root of Bob's account. */
  bob: bobRoot,
  /** A user of Bob's account without a policy. */
  bobsPoor: usersOfBob(),
  /** A user of Bob's account who may do everything with object storage. */
  bobsRich: usersOfBob(all),
  nobody: anonymousCaller,
} satisfies Readonly<Record<string, Caller>>;

/** The state of a bucket. Alice owns it; in it are her `mine`, her `open` with a public ACL, and Bob's `bobs`. */
export interface GridBucket {
  readonly ownership: "BucketOwnerEnforced" | "BucketOwnerPreferred" | "ObjectWriter" | "deleted";
  /** A canned ACL, or the headers of grants. */
  readonly acl: string | Readonly<Record<string, string>>;
  /** The statements of the bucket's policy; none: it has no policy. */
  readonly policy?: readonly object[];
  readonly block?: Readonly<Record<string, boolean>>;
}

type Attempt = (app: Application, bucket: string, caller: Caller) => Promise<string>;

/** The operations, in the order of the tables' columns. */
const operations: readonly (readonly [name: string, attempt: Attempt])[] = [
  ["list", (app, bucket, caller) => outcomeOf(app, "listObjectsV2", { bucket }, caller)],
  ["read mine", (app, bucket, caller) => outcomeOf(app, "headObject", { bucket, key: "mine" }, caller)],
  ["read open", (app, bucket, caller) => outcomeOf(app, "headObject", { bucket, key: "open" }, caller)],
  ["read bobs", (app, bucket, caller) => outcomeOf(app, "headObject", { bucket, key: "bobs" }, caller)],
  ["read none", (app, bucket, caller) => outcomeOf(app, "headObject", { bucket, key: "none" }, caller)],
  ["tags of mine", (app, bucket, caller) => outcomeOf(app, "getObjectTagging", { bucket, key: "mine" }, caller)],
  ["put", (app, bucket, caller) => admissionOf(app, "putObject", { bucket, key: "new" }, caller)],
  ["put+acl", (app, bucket, caller) => admissionOf(app, "putObject", { bucket, key: "new", acl: "private" }, caller)],
  [
    "copy open",
    (app, bucket, caller) =>
      admissionOf(app, "copyObject", { bucket, key: "new", copySource: `${bucket}/open` }, caller),
  ],
  ["delete mine", (app, bucket, caller) => admissionOf(app, "deleteObject", { bucket, key: "mine" }, caller)],
  ["delete bobs", (app, bucket, caller) => admissionOf(app, "deleteObject", { bucket, key: "bobs" }, caller)],
  ["acl of mine", (app, bucket, caller) => outcomeOf(app, "getObjectAcl", { bucket, key: "mine" }, caller)],
  ["set acl of mine", (app, bucket, caller) => admissionOf(app, "putObjectAcl", { bucket, key: "mine" }, caller)],
  ["set acl of bobs", (app, bucket, caller) => admissionOf(app, "putObjectAcl", { bucket, key: "bobs" }, caller)],
  ["bucket acl", (app, bucket, caller) => outcomeOf(app, "getBucketAcl", { bucket }, caller)],
  ["set bucket acl", (app, bucket, caller) => admissionOf(app, "putBucketAcl", { bucket }, caller)],
  ["policy", (app, bucket, caller) => outcomeOf(app, "getBucketPolicy", { bucket }, caller)],
  ["set policy", (app, bucket, caller) => admissionOf(app, "putBucketPolicy", { bucket }, caller)],
];

/** How an outcome is written in the tables; two marks would hide a difference. */
const marks: Readonly<Record<string, string>> = {
  answered: "+",
  NO_SUCH_BUCKET_POLICY: "+",
  ACCESS_DENIED: "-",
  NO_SUCH_KEY: "4",
  METHOD_NOT_ALLOWED: "5",
};

/** Makes a bucket in a new service. Returns a row for each caller: the mark of each operation, in groups of three. */
export const gridOf = async (state: GridBucket): Promise<string[]> => {
  const bucket = "photos";
  const { app } = (await startHarness()).opened;
  await prepare(app, bucket, state);
  const rows: string[] = [];
  for (const [name, caller] of Object.entries(callers)) {
    let row = "";
    for (const [index, [, attempt]] of operations.entries()) {
      const outcome = await attempt(app, bucket, caller);
      row += `${index > 0 && index % 3 === 0 ? " " : ""}${marks[outcome] ?? outcome}`;
    }
    rows.push(`${name.padEnd(8)} ${row}`);
  }
  return rows;
};

const prepare = async (app: Application, bucket: string, state: GridBucket): Promise<void> => {
  const done = async (outcome: Promise<string>): Promise<void> => {
    const reason = await outcome;
    if (reason !== "answered") throw new Error(`the bucket could not be prepared: ${reason}`);
  };
  const open = { objectOwnership: "ObjectWriter", acl: "public-read-write" };
  await done(outcomeOf(app, "createBucket", { bucket, ...open }, aliceRoot));
  await done(outcomeOf(app, "putObject", { bucket, key: "mine" }, aliceRoot));
  await done(outcomeOf(app, "putObject", { bucket, key: "open", acl: "public-read" }, aliceRoot));
  await done(outcomeOf(app, "putObject", { bucket, key: "bobs" }, bobRoot));
  const acl = typeof state.acl === "string" ? { acl: state.acl } : state.acl;
  await done(outcomeOf(app, "putBucketAcl", { bucket, ...acl }, aliceRoot));
  if (state.ownership === "deleted") await done(outcomeOf(app, "deleteBucketOwnershipControls", { bucket }, aliceRoot));
  else {
    const ownershipControls = { rules: [{ objectOwnership: state.ownership }] };
    await done(outcomeOf(app, "putBucketOwnershipControls", { bucket, ownershipControls }, aliceRoot));
  }
  if (state.policy !== undefined) {
    const statements = state.policy.map((statement) => ({ Resource: resourcesOf(bucket), ...statement }));
    await done(outcomeOf(app, "putBucketPolicy", { bucket, policy: policyOf(...statements) }, aliceRoot));
  }
  if (state.block !== undefined)
    await done(
      outcomeOf(app, "putPublicAccessBlock", { bucket, publicAccessBlockConfiguration: state.block }, aliceRoot),
    );
};

const resourcesOf = (bucket: string): string[] => [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`];
