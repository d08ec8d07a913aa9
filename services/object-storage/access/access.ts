import type { ServiceError } from "../../kit/faults/service-error.ts";
import type { Resource } from "../../kit/access/decide.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { AclRules } from "../domain/object-acl.ts";
import type { Bucket } from "../store/bucket.ts";
import type { AccessPoint } from "./access-points.ts";

/** The use of a managed key for an object. */
export interface ManagedKeyUse {
  readonly action: "kms:GenerateDataKey" | "kms:Decrypt";
  readonly keyArn: string;
  /** The key is the service's own managed key, which everybody of its account may use for what the bucket allows. */
  readonly isOwnedByService: boolean;
  readonly context: Readonly<Record<string, string>>;
}

/** A bucket that the call may use. Only through it does an operation reach the bucket. */
export interface AuthorizedBucket {
  readonly name: string;
  /** The one storage class of objects that are written by this name of it. Undefined: there are several. */
  readonly onlyStorageClass: string | undefined;
  /** The access point whose function transforms objects that are read. Undefined: none does. */
  readonly transformedBy: AccessPoint | undefined;
  /** The bucket as it was when the call was last decided. */
  readonly known: Bucket;
  /**
   * The bucket as it is in this read or transaction. If something that the decision depends on has changed, the call is
   * decided again, so this fails as the guard does if the caller may no longer do it.
   */
  in(reader: Reader): Promise<Bucket>;
  /** What decides which ACLs the bucket accepts. */
  aclRules(bucket: Bucket): AclRules;
  /** The bucket as the resource of an action that the call does not declare. */
  asResource(action: string): Resource;
  /** Whether the caller may also do what the call does not declare, with the version of the key that it names. */
  may(reader: Reader, action: string, key: string): Promise<boolean>;
  /** Decides whether the caller may use a managed key. Throws ACCESS_DENIED. */
  checkManagedKey(use: ManagedKeyUse): void;
  /** The refusal of a key of the caller that is not the one which an object was encrypted with. */
  wrongCustomerKey(key: string): ServiceError;
  /** The refusal of a kind of encryption that the bucket does not accept. */
  blockedEncryption(key: string): ServiceError;
  /** The refusal of a key that does not exist: NO_SUCH_KEY for who may list the bucket, else ACCESS_DENIED. */
  noSuchKey(key: string): ServiceError;
  /** The refusal of a version that does not exist: NO_SUCH_VERSION for who may list the bucket, else ACCESS_DENIED. */
  noSuchVersion(key: string, versionId: string): ServiceError;
}

/** An object that the call may copy from. */
export interface AuthorizedSource {
  readonly bucket: AuthorizedBucket;
  readonly key: string;
  /** Undefined: the current version. */
  readonly versionId: string | undefined;
}

/** The access of an operation whose request names a bucket. */
export interface BucketAccess {
  readonly bucket: AuthorizedBucket;
  /** The indexes of the objects of a batch that the caller may not delete, as last decided. */
  readonly refusedElements: ReadonlySet<number>;
  /** Whether the caller, and not the owner of the bucket, pays for the request: both have said so. */
  readonly isRequesterCharged: boolean;
}

/** The access of an operation that copies. */
export interface CopyAccess extends BucketAccess {
  readonly source: AuthorizedSource;
  /** Decides whether the caller may read the tags of the source, and give the copy tags. Throws ACCESS_DENIED. */
  checkTags(reader: Reader): Promise<void>;
}
