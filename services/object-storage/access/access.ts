import type { Reader } from "../../kit/store/store.ts";
import type { Bucket } from "../store/bucket.ts";

/** A bucket that the call may use. Only through it does an operation reach the bucket. */
export interface AuthorizedBucket {
  readonly name: string;
  /**
   * The bucket as it is in this read or transaction. The access is checked again, so this fails as the guard does if
   * the bucket was deleted since, or now belongs to another account.
   */
  in(reader: Reader): Promise<Bucket>;
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
}

/** The access of an operation that copies. */
export interface CopyAccess extends BucketAccess {
  readonly source: AuthorizedSource;
}
