import {
  DeleteBucketPolicyCommand,
  GetObjectTaggingCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectLegalHoldCommand,
  PutObjectRetentionCommand,
  PutObjectTaggingCommand,
} from "@aws-sdk/client-s3";

import { listVersions } from "./reads.ts";
import type { Account, Compared, Walk } from "./walk.ts";
import { denied, noKey, outcomeOf } from "./walk.ts";

export const lock = async (walk: Walk): Promise<Compared> => {
  walk.bucket = walk.buckets.find(({ isLocked }) => isLocked) ?? walk.bucket;
  const current = walk.current;
  const expected = walk.may("everything") ? (current === undefined ? noKey : "done") : denied;
  const retains = walk.random.chance(0.3);
  const Status = walk.random.pick(["ON", "OFF", "OFF"] as const);
  const Retention = { Mode: "GOVERNANCE", RetainUntilDate: new Date(Date.UTC(2099, 0, 1)) } as const;
  const call = retains
    ? walk.client.send(new PutObjectRetentionCommand({ ...walk.object, Retention }))
    : walk.client.send(new PutObjectLegalHoldCommand({ ...walk.object, LegalHold: { Status } }));
  const seen = await outcomeOf<unknown>(call, () => {
    if (current === undefined) return "there is nothing to lock";
    if (retains) current.isRetained = true;
    else current.isHeld = Status === "ON";
    return "done";
  });
  return { did: retains ? "retain" : Status, seen, expected };
};

export const tag = async (walk: Walk): Promise<Compared> => {
  const current = walk.current;
  const isWrite = walk.random.chance(0.5);
  if (isWrite) {
    const TagSet = [{ Key: "n", Value: `${walk.number}` }];
    const seen = await outcomeOf(
      walk.client.send(new PutObjectTaggingCommand({ ...walk.object, Tagging: { TagSet } })),
      () => {
        if (current !== undefined) current.tags = `n=${walk.number}`;
        return "done";
      },
    );
    return { did: "put", seen, expected: walk.may("everything") ? (current ? "done" : noKey) : denied };
  }
  const seen = await outcomeOf(walk.client.send(new GetObjectTaggingCommand(walk.object)), ({ TagSet = [] }) =>
    TagSet.map(({ Key, Value }) => `${Key}=${Value}`).join("&"),
  );
  return { did: "get", seen, expected: walk.may("reading") ? (current?.tags ?? noKey) : denied };
};

export const turnVersions = async (walk: Walk): Promise<Compared> => {
  const Status = walk.random.pick(["Enabled", "Suspended"] as const);
  if (walk.bucket.isLocked || walk.bucket.name === "plain" || walk.random.chance(0.5)) return listVersions(walk);
  const seen = await outcomeOf(
    walk.client.send(new PutBucketVersioningCommand({ Bucket: walk.bucket.name, VersioningConfiguration: { Status } })),
    () => {
      walk.bucket.versioning = Status;
      return "done";
    },
  );
  return { did: Status, seen, expected: walk.may("everything") ? "done" : denied };
};

export const share = async (walk: Walk): Promise<Compared> => {
  walk.account = walk.bucket.owner as Account;
  const sharing = walk.random.pick(["nothing", "reading", "everything"] as const);
  const Bucket = walk.bucket.name;
  const other = walk.accountIds[walk.account === "shop" ? "bank" : "shop"];
  const Statement = {
    Effect: "Allow",
    Principal: { AWS: `arn:aws:iam::${other}:root` },
    Action: sharing === "everything" ? "s3:*" : ["s3:Get*", "s3:List*"],
    Resource: [`arn:aws:s3:::${Bucket}`, `arn:aws:s3:::${Bucket}/*`],
  };
  const Policy = JSON.stringify({ Version: "2012-10-17", Statement: [Statement] });
  const call =
    sharing === "nothing"
      ? walk.client.send(new DeleteBucketPolicyCommand({ Bucket }))
      : walk.client.send(new PutBucketPolicyCommand({ Bucket, Policy }));
  const seen = await outcomeOf<unknown>(call, () => {
    walk.bucket.sharing = sharing;
    return "done";
  });
  return { did: sharing, seen, expected: "done" };
};
