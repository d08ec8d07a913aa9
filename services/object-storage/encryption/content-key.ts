import type { KeyObject } from "node:crypto";

import { drawRandomBytes } from "../../kit/ids/random-bytes.ts";
import type { SealContext } from "../../kit/keyring/sealed.ts";
import { seal, secretKey, unseal, unsealKey } from "../../kit/keyring/sealed.ts";

/** The key that the data keys of an object's blobs are sealed under, opened. */
export interface ContentKey {
  readonly key: KeyObject;
  /** Bound to every data key, so that one does not open without it: the encryption context of a managed key. */
  readonly context: SealContext;
}

/** The data key of one blob. */
export interface BlobKey {
  readonly key: KeyObject;
  /** The same key as it is stored with the blob. */
  readonly sealed: Uint8Array;
}

const dataKeyBytes = 32;

/** Creates the data key of a blob. */
export const createBlobKey = (contentKey: ContentKey, blobId: string): BlobKey => {
  const bytes = drawRandomBytes(dataKeyBytes);
  const sealed = seal(contentKey.key, keyContext(contentKey, blobId), bytes);
  return { key: secretKey(bytes), sealed };
};

/** Opens the data key of a blob. Throws SealBrokenError for another content key or changed bytes. */
export const openBlobKey = (contentKey: ContentKey, blobId: string, sealed: Uint8Array): KeyObject =>
  unsealKey(contentKey.key, keyContext(contentKey, blobId), sealed);

/** Encrypts the content of a blob that is stored in the database. */
export const sealInlineBody = (key: KeyObject, blobId: string, content: Uint8Array): Uint8Array =>
  seal(key, bodyContext(blobId), content);

/** Decrypts the content of a blob that is stored in the database. Throws SealBrokenError. */
export const openInlineBody = (key: KeyObject, blobId: string, sealed: Uint8Array): Uint8Array =>
  unseal(key, bodyContext(blobId), sealed);

const keyContext = ({ context }: ContentKey, blobId: string): SealContext => ["blob key", blobId, ...context];

const bodyContext = (blobId: string): SealContext => ["inline body", blobId];
