import type { UploadRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Resource } from "../../kit/access/decide.ts";
import type { Question } from "../../kit/access/questions.ts";
import { textOf } from "../../kit/access/questions.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { Policy } from "../../kit/policy/document.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import type { CopySource } from "../domain/copy-source.ts";
import { hasAcls, ownerNow } from "../domain/ownership.ts";
import type { PublicAccessBlock } from "../domain/public-access-block.ts";
import { effectiveBlock } from "../domain/public-access-block.ts";
import type { Bucket } from "../store/bucket.ts";
import type { StoredVersion } from "../store/object.ts";
import { findCurrent, findVersion } from "../store/object.ts";
import { findUpload } from "../store/upload.ts";
import { belongsToObject, isGrantedByBucket, isGrantedByObject } from "./acl-grants.ts";
import type { BucketPolicy } from "./stored-policies.ts";
import { findPolicy } from "./stored-policies.ts";
import { refuse } from "./refusals.ts";
import { requestConditions } from "./request-conditions.ts";
import { resourceArn } from "../domain/resource-arn.ts";

/** The parts of a call that its resources depend on, and where its decisions are recorded. */
export type AccessCall = Pick<CallContext<AccessApplication>, "app" | "caller" | "method" | "log"> &
  Partial<Pick<CallContext<unknown>, "audit" | "requestId" | "isQuestion">>;

export type AccessApplication = Pick<
  Application,
  | "accessLogs"
  | "accessPoints"
  | "accountBlocks"
  | "answers"
  | "store"
  | "clock"
  | "accounts"
  | "canonicalUserId"
  | "partition"
  | "region"
  | "regions"
  | "allowsPublicBuckets"
>;

/** A bucket with everything that decides who may use it. */
export interface BucketFacts {
  readonly bucket: Bucket;
  readonly policy: BucketPolicy | undefined;
  readonly block: PublicAccessBlock;
  /** What its account blocks, of which `block` was made. Another one is another object. Undefined: nothing. */
  readonly accountBlock: PublicAccessBlock | undefined;
}

/** Reads what decides who may use a bucket. */
export const factsOf = async (
  reader: Reader,
  bucket: Bucket,
  { accountBlocks, allowsPublicBuckets }: Pick<Application, "accountBlocks" | "allowsPublicBuckets">,
): Promise<BucketFacts> => {
  const policy = bucket.policyRevision === "" ? undefined : await findPolicy(reader, bucket);
  const accountBlock = accountBlocks.find(bucket.accountId);
  const block = effectiveBlock(bucket.publicAccessBlock, accountBlock, allowsPublicBuckets);
  return { bucket, policy, block, accountBlock };
};

/** The buckets of a call: the one that it is for, and the source of a copy. */
export interface CallBuckets {
  readonly own: BucketFacts;
  readonly source: { readonly facts: BucketFacts; readonly object: CopySource } | undefined;
  /** The name of the bucket as the request writes it. Undefined: its own. */
  readonly ownText: string | undefined;
}

/** The operations on the policy of a bucket, of which the owner's root cannot be locked out. */
const policyOperations: ReadonlySet<string> = new Set(["GetBucketPolicy", "PutBucketPolicy", "DeleteBucketPolicy"]);

/** The operations whose further permissions are about the object that they make. */
const makingOperations: ReadonlySet<string> = new Set(["PutObject", "CopyObject", "CreateMultipartUpload"]);

/** Finds the resources of one call's questions; a bucket is read once for the call, an object only where it counts. */
export class ResourceFinder {
  readonly #call: Omit<AccessCall, "log">;
  readonly #reader: Reader;
  readonly #buckets: CallBuckets;
  #dependsOnObjects = false;

  constructor(call: Omit<AccessCall, "log">, reader: Reader, buckets: CallBuckets) {
    this.#call = call;
    this.#reader = reader;
    this.#buckets = buckets;
  }

  /** Whether an object or an upload was read, so that a change of it can change the decision. */
  get dependsOnObjects(): boolean {
    return this.#dependsOnObjects;
  }

  /** The resource of a question. Throws ACCESS_DENIED where the bucket lets nobody of the caller's kind in. */
  async find(question: Question): Promise<Resource> {
    const { own, source, ownText } = this.#buckets;
    const { action, template } = question.permission;
    if (template === "{bucket}") return this.#ofBucket(own, action, question);
    if (template !== "{copy_source}")
      return this.#ofKey(
        own,
        question,
        action,
        question.resource.slice((ownText ?? own.bucket.name).length + 1),
        this.#versionIdOf(question),
      );
    if (source === undefined) throw new Error("a copy has no source");
    const { bucket, key, versionId } = source.object;
    // Copies are made by callers who signed, whatever the policies allow.
    if (this.#call.caller.isAnonymous) throw refuse(this.#call, action, `${bucket}/${key}`, "unsigned-copy");
    const readAction = versionId === undefined ? action : action.replace("GetObject", "GetObjectVersion");
    return this.#ofKey(source.facts, question, readAction, key, versionId);
  }

  /** The bucket as the resource of an action. */
  async #ofBucket(facts: BucketFacts, action: string, question: Question): Promise<Resource> {
    this.#checkPayer(facts, question, action, facts.bucket.name);
    const conditions = await this.#conditions(facts, question, undefined);
    return { ...this.bucketResource(facts, action), conditions };
  }

  /** The bucket as the resource of an action that no member of the request is a condition key of. */
  bucketResource(facts: BucketFacts, action: string): Resource {
    const { bucket } = facts;
    const { caller } = this.#call;
    const isAdmitted = this.#isAdmitted(facts);
    const isRootOnPolicy = policyOperations.has(action) && caller.isRoot && isOwner(caller, bucket.accountId);
    return {
      arn: this.#arn(bucket.name),
      ownerAccountId: bucket.accountId,
      policies: isRootOnPolicy ? [] : policiesOf(facts, isAdmitted),
      isGrantedByOwner: isAdmitted && hasAcls(bucket) && this.#isGrantedByBucket(facts, action),
      shownAs: bucket.name,
    };
  }

  /** A key of a bucket, or a version of it, as the resource of an action. */
  async #ofKey(
    facts: BucketFacts,
    question: Question,
    action: string,
    key: string,
    versionId: string | undefined,
  ): Promise<Resource> {
    const { bucket } = facts;
    const { caller, method } = this.#call;
    const shownAs = `${bucket.name}/${key}`;
    this.#checkPayer(facts, question, action, shownAs);
    let found: Promise<StoredVersion | undefined> | undefined;
    const find = (): Promise<StoredVersion | undefined> => {
      this.#dependsOnObjects = true;
      found ??=
        versionId === undefined
          ? findCurrent(this.#reader, bucket.bucketId, key)
          : findVersion(this.#reader, bucket.bucketId, key, versionId);
      return found;
    };
    const resource = {
      arn: this.#arn(shownAs),
      action,
      shownAs,
      conditions: await this.#conditions(facts, question, async () => (await find())?.version.tags ?? []),
    };
    const isAdmitted = this.#isAdmitted(facts);
    const ofBucketsOwner = { ...resource, ownerAccountId: bucket.accountId, policies: policiesOf(facts, isAdmitted) };
    if (!belongsToObject(action)) {
      const isGranted =
        (hasAcls(bucket) && this.#isGrantedByBucket(facts, action)) ||
        (await this.#isInitiator(bucket, action, question));
      return { ...ofBucketsOwner, isGrantedByOwner: isAdmitted && isGranted };
    }
    if (!hasAcls(bucket) || !isAdmitted) return ofBucketsOwner;
    if (makingOperations.has(method.name) && question.permission.template !== "{copy_source}")
      return caller.isAnonymous ? ofBucketsOwner : { ...ofBucketsOwner, ownerAccountId: caller.accountId };
    const object = await find();
    // Who may list the bucket may learn that the key does not exist.
    if (object === undefined)
      return { ...ofBucketsOwner, isGrantedByOwner: this.#isGrantedByBucket(facts, "ListBucket") };
    const ownerAccountId = ownerNow(bucket, object.version.ownerAccountId);
    const isGrantedByOwner = isGrantedByObject(object.version.acl, action, {
      caller,
      ownerAccountId,
      ignoresPublic: facts.block.ignorePublicAcls,
      canonicalUserId: this.#call.app.canonicalUserId,
    });
    return ownerAccountId === bucket.accountId
      ? { ...ofBucketsOwner, isGrantedByOwner }
      : { ...resource, ownerAccountId, policies: policiesOf(facts, false), isGrantedByOwner };
  }

  /** Where public buckets are restricted and the policy is public, callers of other accounts are allowed nothing. */
  #isAdmitted({ bucket, policy, block }: BucketFacts): boolean {
    const isRestricted = block.restrictPublicBuckets && policy?.isPublic === true;
    return !isRestricted || isOwner(this.#call.caller, bucket.accountId);
  }

  #isGrantedByBucket({ bucket, block }: BucketFacts, action: string): boolean {
    return isGrantedByBucket(bucket.acl, action, {
      caller: this.#call.caller,
      ownerAccountId: bucket.accountId,
      ignoresPublic: block.ignorePublicAcls,
      canonicalUserId: this.#call.app.canonicalUserId,
    });
  }

  /** Where the requester pays, callers of other accounts must say that they do, and anonymous callers cannot. */
  #checkPayer({ bucket }: BucketFacts, question: Question, action: string, shownAs: string): void {
    if (!bucket.requesterPays || isOwner(this.#call.caller, bucket.accountId)) return;
    if (!this.#hasMember("request_payer")) return;
    if (this.#call.caller.isAnonymous || question.read("request_payer") !== "requester")
      throw refuse(this.#call, action, shownAs, "requester-pays");
  }

  /** Whoever started an upload may list its parts and end it. */
  async #isInitiator(bucket: Bucket, action: string, question: Question): Promise<boolean> {
    const { caller } = this.#call;
    if (action !== "AbortMultipartUpload" && action !== "ListMultipartUploadParts") return false;
    if (caller.isAnonymous || (caller.isRoot && isOwner(caller, bucket.accountId))) return false;
    this.#dependsOnObjects = true;
    const reference = {
      bucketId: bucket.bucketId,
      key: textOf(question, "key"),
      uploadId: textOf(question, "upload_id"),
    };
    const upload: UploadRecord | undefined = await findUpload(this.#reader, reference);
    return upload !== undefined && upload.initiatorArn === caller.principalArn;
  }

  #conditions(
    { bucket, policy }: BucketFacts,
    question: Question,
    readTags: (() => Promise<readonly { readonly key: string; readonly value: string }[]>) | undefined,
  ) {
    return requestConditions({
      question,
      hasMember: (name) => this.#hasMember(name),
      caller: this.#call.caller,
      policy,
      bucketAccountId: bucket.accountId,
      source: this.#buckets.source?.object,
      nowMs: this.#call.app.clock.now(),
      readTags,
    });
  }

  /** The version that the question is about; undefined: the current one. */
  #versionIdOf({ read, permission }: Question): string | undefined {
    const member = permission.list === undefined ? "version_id" : `${permission.list}.version_id`;
    if (permission.list === undefined && !this.#hasMember(member)) return undefined;
    const value = read(member);
    return typeof value === "string" ? value : undefined;
  }

  #hasMember(name: string): boolean {
    return this.#call.method.input.fields.some((field) => field.name === name);
  }

  #arn(resource: string): string {
    return resourceArn(this.#call.app, resource);
  }
}

/** The policies of a bucket as far as they count: what it denies always does. */
const policiesOf = ({ policy }: BucketFacts, allows: boolean): readonly Policy[] =>
  policy === undefined ? [] : [allows ? policy.policy : policy.denials];
