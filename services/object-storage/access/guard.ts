import type { Message } from "@bufbuild/protobuf";

import type { Tag } from "../../../gen/quartet/objectstorage/v1/bucket_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { decideCall, refuseCall } from "../../kit/access/decide.ts";
import type { Resource } from "../../kit/access/decide.ts";
import type { Question } from "../../kit/access/questions.ts";
import { textOf } from "../../kit/access/questions.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import type { Guard } from "../../kit/server/guard.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { CopyAccess } from "./access.ts";
import { checkOnPremises } from "./access-point-rules.ts";
import { openAccess } from "./call-access.ts";
import { namedBy, nameInArn } from "./named-buckets.ts";
import type { Application } from "../application.ts";
import { tagPairs } from "../domain/tags.ts";
import { logRefusal } from "../logging/logged-calls.ts";
import type { Bucket } from "../store/bucket.ts";
import { elsewhere } from "./elsewhere.ts";
import { tagConditions } from "./request-conditions.ts";
import type { AccessApplication, AccessCall } from "./resources.ts";
import { rules } from "./rules.ts";
import { resourceArn } from "../domain/resource-arn.ts";

/** The members by which requests of all operations name buckets. A member that a request does not have is undefined. */
interface BucketMembers {
  readonly bucket?: string;
  readonly expectedBucketOwner?: string;
  readonly copySource?: string;
  readonly expectedSourceBucketOwner?: string;
  /** Of the operations on an account: which one. */
  readonly accountId?: string;
}

/** The operation whose bucket does not exist yet. */
const creation = ObjectStorageService.method.createBucket.name;

/** The operations whose requests may name their bucket by its ARN. Their handlers receive its name. */
const byArn: ReadonlySet<string> = new Set([
  ObjectStorageService.method.listTagsForResource.name,
  ObjectStorageService.method.tagResource.name,
  ObjectStorageService.method.untagResource.name,
]);

type NamedByArn = Message & { bucket: string };

/** The operation by which clients ask for the region of a bucket, also where they may not use it. */
const inspection = ObjectStorageService.method.headBucket.name;

/**
 * Decides whether a call may reach its handler, before any content of an upload is read. An operation on an account is
 * for its own principals: those of others get ACCESS_DENIED. In one read, finds the
 * existing buckets that the request names with what decides on them: policy, ACL, ownership, public access block, and
 * the object itself where its ACL or tags count. They are handed to the handler as `context.access`; the type of each
 * operation has only those that its request names. A URL that a function was called with names its bucket by a
 * secret, see `readAsInput`. Checks, in order:
 *  1. an ARN of `byArn` is that of a bucket (INVALID_REQUEST); an access point on premises accepts what the request
 *     asks for, see `checkOnPremises`;
 *  2. the bucket exists, or `elsewhere` names its region, and it has the expected owner, see `findNamedBucket`;
 *  3. the copy source is a bucket and a key (INVALID_ARGUMENT);
 *  4. the bucket of the source, as the first one;
 *  5. every permission that the request needs (ACCESS_DENIED), of the bucket and of the access point by which it is
 *     reached; those of a batch are decided for each object.
 */
export const guard: Guard<AccessApplication, CopyAccess> = async (request, context) => {
  if (byArn.has(context.method.name)) nameByName(request as NamedByArn);
  const { bucket: name, expectedBucketOwner, copySource, expectedSourceBucketOwner } = request as BucketMembers;
  const { accountId } = request as BucketMembers;
  if (accountId !== undefined && accountId !== context.caller.accountId) throw refuseCall(rules, context);
  if (name === undefined || context.method.name === creation) {
    await decideCall(rules, context, request, async (question) => newBucket(question, context));
    return {} as CopyAccess;
  }
  const input = readAsInput(request, context, name);
  const named = {
    own:
      input === undefined ? namedBy(context.app, name, expectedBucketOwner) : { name: input, expectedOwner: undefined },
    source: copySource === undefined ? undefined : { text: copySource, expectedOwner: expectedSourceBucketOwner },
  };
  if (named.own.reachedBy !== undefined) checkOnPremises(named.own.reachedBy.point, request);
  let bucket: Bucket | undefined;
  const found = (each: Bucket): void => {
    bucket = each;
  };
  try {
    return await context.app.store.read((reader) =>
      openAccess(reader, context, request, named, isByGateway(context), found),
    );
  } catch (thrown) {
    if (bucket?.hasLogging === true) logRefusal(context as CallContext<Application>, request, bucket, thrown);
    if (bucket !== undefined && context.method.name === inspection)
      context.responseHeader.set("x-svc-bucket-region", bucket.region);
    throw await elsewhere(thrown, context, named.own.name);
  }
};

const nameByName = (request: NamedByArn): void => {
  request.bucket = nameInArn(request.bucket);
};

/** The operations by which functions read what they transform. */
const inputOperations: ReadonlySet<string> = new Set([
  ObjectStorageService.method.getObject.name,
  ObjectStorageService.method.headObject.name,
]);

/**
 * The bucket of the object that a function reads by a URL which it was called with. The call is then one of the caller
 * for whom the function was called. Undefined: the name is not that of such a URL, or its reader waits no more.
 */
const readAsInput = (request: Message, context: CallContext<AccessApplication>, name: string): string | undefined => {
  const input = context.app.answers.findInput(name);
  if (input === undefined || !inputOperations.has(context.method.name)) return undefined;
  const { key, versionId } = request as { readonly key?: string; readonly versionId?: string };
  if (key !== input.key || versionId !== input.versionId) return undefined;
  (context as { caller: Caller }).caller = input.caller;
  return input.bucket;
};

/** What the gateway reads of a bucket to answer requests that nobody signs: preflight requests and visits. */
const gatewayOperations: ReadonlySet<string> = new Set([
  ObjectStorageService.method.getBucketCors.name,
  ObjectStorageService.method.getBucketWebsite.name,
]);

/** The gateway may read rules of a bucket without a caller. */
const isByGateway = ({ caller, method }: Pick<CallContext<unknown>, "caller" | "method">): boolean =>
  gatewayOperations.has(method.name) && caller.isAnonymous && caller.isPreauthorized === true;

/** A bucket that is to be created in the caller's account. A private ACL, which it has anyway, needs no permission. */
const newBucket = (question: Question, { app, caller }: AccessCall): Resource => {
  const name = textOf(question, "bucket");
  const region = textOf(question, "create_bucket_configuration.location_constraint");
  const isPrivate = question.permission.action === "PutBucketAcl" && textOf(question, "acl") === "private";
  return {
    arn: resourceArn(app, name),
    ownerAccountId: caller.accountId,
    conditions: new Map([
      ...(region === "" ? [] : [["s3:locationconstraint", [region]] as const]),
      ...tagConditions(tagPairs({ tagSet: (question.read("create_bucket_configuration.tags") ?? []) as Tag[] })),
    ]),
    shownAs: name,
    ...(isPrivate && { action: "CreateBucket" }),
  };
};
