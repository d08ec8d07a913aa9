import type { Message } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Resource } from "../../kit/access/decide.ts";
import { recordsAllowed } from "../../kit/access/decision-recorder.ts";
import { assertAllowed, decideQuestions, isAllowed } from "../../kit/access/decide.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import type { Question } from "../../kit/access/questions.ts";
import { questionsOf } from "../../kit/access/questions.ts";
import type { PermissionContract } from "../../kit/contract/permissions.ts";
import { memberReader } from "../../kit/contract/permissions.ts";
import type { ServiceError } from "../../kit/faults/service-error.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import { isOwner } from "../../kit/identity/owner.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { AccessPoint } from "./access-points.ts";
import { onPremisesClass } from "./access-points.ts";
import type { CopySource } from "../domain/copy-source.ts";
import { parseCopySource } from "../domain/copy-source.ts";
import type { AclRules } from "../domain/object-acl.ts";
import { hasAcls } from "../domain/ownership.ts";
import { effectiveBlock } from "../domain/public-access-block.ts";
import { fault } from "../faults.ts";
import type { Bucket } from "../store/bucket.ts";
import type { AuthorizedBucket, AuthorizedSource, CopyAccess, ManagedKeyUse } from "./access.ts";
import type { NamedBucket } from "./named-buckets.ts";
import { findNamedBucket, namedBy } from "./named-buckets.ts";
import { reachedBy, resourceAt } from "./access-point-rules.ts";
import { refuse } from "./refusals.ts";
import type { AccessCall, BucketFacts } from "./resources.ts";
import { factsOf, ResourceFinder } from "./resources.ts";
import { rules } from "./rules.ts";

/** The buckets that a request names. */
export interface NamedBuckets {
  readonly own: NamedBucket;
  /** Of a copy: the source as the request writes it, and the account that must own its bucket. */
  readonly source?: { readonly text: string; readonly expectedOwner: string | undefined } | undefined;
}

/** What a call was decided on, and the outcome. */
interface Decided {
  readonly own: BucketFacts;
  readonly source: { readonly facts: BucketFacts; readonly object: CopySource } | undefined;
  readonly finder: ResourceFinder;
  readonly refusedElements: ReadonlySet<number>;
}

/**
 * Decides a call on buckets in a read, and returns the access to them. Fails, in this order, as `findNamedBucket` for
 * the bucket, as `parseCopySource` for a copy source, as `findNamedBucket` for its bucket, and with ACCESS_DENIED for a
 * permission that the request needs and the caller does not have. `isDecided` is set for calls that need none. `found`
 * is called with the bucket before anything is decided on it.
 */
export const openAccess = async (
  reader: Reader,
  call: AccessCall,
  request: Message,
  named: NamedBuckets,
  isDecided: boolean,
  found: (bucket: Bucket) => void = () => undefined,
): Promise<CopyAccess> => {
  const decision = new CallDecision(call, request, named, isDecided, found);
  await decision.decide(reader);
  return new OpenedAccess(decision);
};

/** The decision on one call, which can be made again. */
class CallDecision {
  readonly call: AccessCall;
  readonly #request: Message;
  readonly #named: NamedBuckets;
  readonly #isDecided: boolean;
  readonly #found: (bucket: Bucket) => void;
  #decided: Decided | undefined;

  constructor(
    call: AccessCall,
    request: Message,
    named: NamedBuckets,
    isDecided: boolean,
    found: (bucket: Bucket) => void,
  ) {
    this.#found = found;
    this.call = call;
    this.#request = request;
    this.#named = named;
    this.#isDecided = isDecided;
  }

  /** What was decided last. */
  get last(): Decided {
    if (this.#decided === undefined) throw new Error("the call was not decided");
    return this.#decided;
  }

  /** The buckets as the request names them. */
  nameOf(role: BucketRole): NamedBucket {
    if (role === "own") return this.#named.own;
    return this.#sourceNamed(this.last.source?.object.bucket ?? "");
  }

  factsOf(role: BucketRole): BucketFacts {
    const { own, source } = this.last;
    return role === "own" ? own : (source?.facts ?? own);
  }

  /** Whether the requester of another account has agreed to pay for a bucket whose requesters do. */
  get isRequesterCharged(): boolean {
    const { requestPayer } = this.#request as { readonly requestPayer?: string };
    if (requestPayer !== "requester") return false;
    const { own, source } = this.last;
    return [own, ...(source === undefined ? [] : [source.facts])].some(
      ({ bucket }) => bucket.requesterPays && !isOwner(this.call.caller, bucket.accountId),
    );
  }

  /** Whether the caller may do something that the call does not declare. Nothing is recorded. */
  async may(reader: Reader, action: string, resource: string): Promise<boolean> {
    const { own, source } = this.last;
    const read = memberReader(this.#request, this.call.method.input);
    const finder = new ResourceFinder(this.call, reader, { own, source, ownText: undefined });
    const question = { permission: undeclared(action), resource, read, element: undefined };
    const found = await finder.find(question);
    const point = this.#named.own.reachedBy?.point;
    const asked = reachedBy(point, this.call.app, found);
    if (!isAllowed(rules, this.call, { action, resource: asked, read })) return false;
    const atPoint = point && resourceAt(point, this.call.app, question, found);
    return atPoint === undefined || isAllowed(rules, this.call, { action, resource: atPoint, read });
  }

  /** Decides on the tags that a copy takes from its source. Throws ACCESS_DENIED. */
  async checkTags(reader: Reader): Promise<void> {
    const { own, source } = this.last;
    const { name, reachedBy: reached } = this.#named.own;
    const read = memberReader(this.#request, this.call.method.input);
    const resource = `${reached?.text ?? name}/${String(read("key"))}`;
    const questions = tagsOfCopies.map((permission) => ({ permission, resource, read, element: undefined }));
    const finder = new ResourceFinder(this.call, reader, { own, source, ownText: reached?.text });
    if (!this.#isDecided) await this.#decideQuestions(finder, source?.object, questions);
  }

  async decide(reader: Reader): Promise<void> {
    const { caller } = this.call;
    const own = await this.#find(reader, this.#named.own);
    this.#found(own.bucket);
    const object = this.#named.source === undefined ? undefined : parseCopySource(this.#named.source.text);
    const source = object === undefined ? undefined : { object, facts: await this.#findSource(reader, object) };
    const finder = new ResourceFinder(this.call, reader, { own, source, ownText: this.#named.own.reachedBy?.text });
    const isOwnersRoot = ownsAll(caller, own) && (source === undefined || ownsAll(caller, source.facts));
    // Where the outcome is certain, it is asked for only to be recorded.
    const isUndisputed = this.#isDecided || (isOwnersRoot && !recordsAllowed(this.call));
    const refusedElements = isUndisputed
      ? await this.#decideAtPoints(finder, object, () => this.#questions())
      : await this.#decideQuestions(finder, object, this.#questions());
    this.#decided = { own, source, finder, refusedElements };
  }

  #questions(): Question[] {
    return questionsOf(this.call.method, this.#request, this.call.isQuestion);
  }

  /** Decides questions by what applies to the buckets themselves, and then at the access points. */
  async #decideQuestions(
    finder: ResourceFinder,
    object: CopySource | undefined,
    questions: readonly Question[],
  ): Promise<ReadonlySet<number>> {
    const { refusedElements } = await decideQuestions(rules, this.call, questions, async (question) =>
      reachedBy(this.#pointOf(question, object), this.call.app, await finder.find(question)),
    );
    return refusedElements.union(await this.#decideAtPoints(finder, object, () => questions));
  }

  /** Decides questions by the policies of the access points by which the buckets are reached. */
  async #decideAtPoints(
    finder: ResourceFinder,
    object: CopySource | undefined,
    questions: () => readonly Question[],
  ): Promise<ReadonlySet<number>> {
    const points = [this.#named.own, ...(object === undefined ? [] : [this.#sourceNamed(object.bucket)])];
    if (this.#isDecided || points.every((named) => named.reachedBy === undefined)) return noElements;
    const { refusedElements } = await decideQuestions(rules, this.call, questions(), async (question) => {
      const point = this.#pointOf(question, object);
      const found = await finder.find(question);
      return point === undefined ? found : resourceAt(point, this.call.app, question, found);
    });
    return refusedElements;
  }

  /** The access point by which the bucket of a question is reached. */
  #pointOf({ permission }: Question, object: CopySource | undefined): AccessPoint | undefined {
    if (permission.template !== "{copy_source}") return this.#named.own.reachedBy?.point;
    return object === undefined ? undefined : this.#sourceNamed(object.bucket).reachedBy?.point;
  }

  #sourceNamed(text: string): NamedBucket {
    return namedBy(this.call.app, text, this.#named.source?.expectedOwner);
  }

  #findSource(reader: Reader, { bucket }: CopySource): Promise<BucketFacts> {
    return this.#find(reader, this.#sourceNamed(bucket));
  }

  async #find(reader: Reader, named: NamedBucket): Promise<BucketFacts> {
    const bucket = await findNamedBucket(reader, this.call, named);
    return factsOf(reader, bucket, this.call.app);
  }
}

/** The bucket that a call is for, or the one that a copy reads. */
type BucketRole = "own" | "source";

/** One bucket of a decided call. */
class DecidedBucket implements AuthorizedBucket {
  readonly name: string;
  readonly #decision: CallDecision;
  readonly #role: BucketRole;

  constructor(decision: CallDecision, role: BucketRole) {
    this.name = decision.nameOf(role).name;
    this.#decision = decision;
    this.#role = role;
  }

  get onlyStorageClass(): string | undefined {
    return this.#decision.nameOf(this.#role).reachedBy?.point.outpostId === undefined ? undefined : onPremisesClass;
  }

  get transformedBy(): AccessPoint | undefined {
    const point = this.#decision.nameOf(this.#role).reachedBy?.point;
    return point?.function === undefined ? undefined : point;
  }

  get known(): Bucket {
    return this.#decision.factsOf(this.#role).bucket;
  }

  async in(reader: Reader): Promise<Bucket> {
    const decision = this.#decision;
    const bucket = await findNamedBucket(reader, decision.call, decision.nameOf(this.#role));
    const { bucket: known, accountBlock } = decision.factsOf(this.#role);
    const isSameAccount = decision.call.app.accountBlocks.find(bucket.accountId) === accountBlock;
    if (!decision.last.finder.dependsOnObjects && isSameAccount && isDecidedAlike(bucket, known)) return bucket;
    await decision.decide(reader);
    return this.known;
  }

  aclRules(bucket: Bucket): AclRules {
    const { call } = this.#decision;
    const { app, method } = call;
    return {
      bucket,
      block: effectiveBlock(
        bucket.publicAccessBlock,
        app.accountBlocks.find(bucket.accountId),
        app.allowsPublicBuckets,
      ),
      canonicalUserId: app.canonicalUserId,
      accessDenied: (rule) => refuse(call, method.name, bucket.name, rule),
    };
  }

  asResource(action: string): Resource {
    return this.#decision.last.finder.bucketResource(this.#decision.factsOf(this.#role), action);
  }

  may(reader: Reader, action: string, key: string): Promise<boolean> {
    return this.#decision.may(reader, action, `${this.name}/${key}`);
  }

  checkManagedKey({ action, keyArn, isOwnedByService, context }: ManagedKeyUse): void {
    const { call } = this.#decision;
    const { region } = this.known;
    const ownerAccountId = parseArn(keyArn)?.account ?? this.known.accountId;
    const isGrantedByOwner = isOwnedByService && isOwner(call.caller, ownerAccountId);
    const conditions = new Map<string, readonly string[]>([
      ["kms:viaservice", [`s3.${region}.amazonaws.com`]],
      ["kms:calleraccount", [call.caller.accountId]],
      ["kms:encryptioncontextkeys", Object.keys(context)],
      ...Object.entries(context).map(
        ([name, value]) => [`kms:encryptioncontext:${name.toLowerCase()}`, [value]] as const,
      ),
    ]);
    assertAllowed(rules, call, { action, resource: { arn: keyArn, ownerAccountId, isGrantedByOwner, conditions } });
  }

  wrongCustomerKey(key: string): ServiceError {
    return refuse(this.#decision.call, this.#decision.call.method.name, `${this.name}/${key}`, "customer-key");
  }

  blockedEncryption(key: string): ServiceError {
    return refuse(this.#decision.call, this.#decision.call.method.name, `${this.name}/${key}`, "blocked-encryption");
  }

  noSuchKey(key: string): ServiceError {
    return this.#absence(fault(ErrorReason.NO_SUCH_KEY, { key }));
  }

  noSuchVersion(key: string, versionId: string): ServiceError {
    return this.#absence(fault(ErrorReason.NO_SUCH_VERSION, { key, version_id: versionId }));
  }

  #absence(refusal: ServiceError): ServiceError {
    return isAllowed(rules, this.#decision.call, { action: listing, resource: this.asResource(listing) })
      ? refusal
      : refuse(this.#decision.call, listing, this.name, "no-listing");
  }
}

/** The access of a decided call. Only a copy has a source, as the types of operations say. */
class OpenedAccess implements CopyAccess {
  readonly bucket: AuthorizedBucket;
  readonly source: AuthorizedSource;
  readonly #decision: CallDecision;

  constructor(decision: CallDecision) {
    this.#decision = decision;
    this.bucket = new DecidedBucket(decision, "own");
    const { source } = decision.last;
    this.source = (source && {
      bucket: new DecidedBucket(decision, "source"),
      key: source.object.key,
      versionId: source.object.versionId,
    }) as AuthorizedSource;
  }

  checkTags(reader: Reader): Promise<void> {
    return this.#decision.checkTags(reader);
  }

  get refusedElements(): ReadonlySet<number> {
    return this.#decision.last.refusedElements;
  }

  get isRequesterCharged(): boolean {
    return this.#decision.isRequesterCharged;
  }
}

const noElements: ReadonlySet<number> = new Set();

/**
 * Whether the caller is the root of the bucket's owner, and nothing denies or belongs to others: without a policy and
 * ACLs every question would have the same answer.
 */
const ownsAll = (caller: Caller, { bucket, policy }: BucketFacts): boolean =>
  caller.isRoot &&
  caller.sessionPolicies === undefined &&
  isOwner(caller, bucket.accountId) &&
  policy === undefined &&
  !hasAcls(bucket);

/** A permission that a call does not declare. */
const undeclared = (action: string, template = "{bucket}/{key}"): PermissionContract => ({
  action,
  template,
  resource: [],
  list: undefined,
  element: undefined,
  appliesTo: () => true,
});

/** The permissions of a copy that takes the tags of its source along. */
const tagsOfCopies = [undeclared("GetObjectTagging", "{copy_source}"), undeclared("PutObjectTagging")];

/** The permission of those who may learn that a key does not exist. */
const listing = "ListBucket";

/** Whether nothing that decides on a bucket has changed. */
const isDecidedAlike = (now: Bucket, before: Bucket): boolean =>
  now.bucketId === before.bucketId && now.accessRevision === before.accessRevision;
