import type { KeyObject } from "node:crypto";

import { drawRandomBytes } from "../../kit/ids/random-bytes.ts";
import type { SealContext } from "../../kit/keyring/sealed.ts";
import { seal, SealBrokenError, secretKey, unseal, unsealKey } from "../../kit/keyring/sealed.ts";

/** The key that the data keys of an object's blobs are sealed under, opened. */
export interface ContentKey {
  readonly key: KeyObject;
  /** Those that sealed data keys before it, because the record of one of them was damaged. Unset: none. */
  readonly older?: readonly KeyObject[];
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
export const openBlobKey = (contentKey: ContentKey, blobId: string, sealed: Uint8Array): KeyObject => {
  const { key, older = [] } = contentKey;
  const context = keyContext(contentKey, blobId);
  for (const each of [key, ...older].slice(0, -1))
    try {
      return unsealKey(each, context, sealed);
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error;
    }
  return unsealKey(older.at(-1) ?? key, context, sealed);
};

/** Encrypts the content of a blob that is stored in the database. */
export const sealInlineBody = (key: KeyObject, blobId: string, content: Uint8Array): Uint8Array =>
  seal(key, bodyContext(blobId), content);

/** Decrypts the content of a blob that is stored in the database. Throws SealBrokenError. */
export const openInlineBody = (key: KeyObject, blobId: string, sealed: Uint8Array): Uint8Array =>
  unseal(key, bodyContext(blobId), sealed);

const keyContext = ({ context }: ContentKey, blobId: string): SealContext => ["blob key", blobId, ...context];

const bodyContext = (blobId: string): SealContext => ["inline body", blobId];
