import type { Operation } from "../application.ts";
import { describeDefaultEncryption, planDefaultEncryption } from "../domain/default-encryption.ts";
import { changeDefaultEncryption } from "../store/bucket.ts";

/**
 * Replaces the encryption of objects that say nothing about it; stored objects stay as they are. Repeating it changes
 * nothing. Fails if the document is invalid, see `planDefaultEncryption`. Whether its key exists is checked where an
 * object is written.
 */
export const putBucketEncryption: Operation<"putBucketEncryption"> = async (request, { app, access }) => {
  const planned = planDefaultEncryption(request.serverSideEncryptionConfiguration);
  await app.store.transact(async (transaction) =>
    changeDefaultEncryption(transaction, await access.bucket.in(transaction), planned),
  );
  return {};
};

/** Returns the encryption of objects that say nothing about it: the service's own key, unless another was put. */
export const getBucketEncryption: Operation<"getBucketEncryption"> = async (_request, { app, access }) => {
  const { defaultEncryption } = await app.store.read((reader) => access.bucket.in(reader));
  return { serverSideEncryptionConfiguration: describeDefaultEncryption(defaultEncryption) };
};

/** Returns to the service's own key for objects that say nothing about encryption. Repeating it changes nothing. */
export const deleteBucketEncryption: Operation<"deleteBucketEncryption"> = async (_request, { app, access }) => {
  await app.store.transact(async (transaction) =>
    changeDefaultEncryption(transaction, await access.bucket.in(transaction), undefined),
  );
  return {};
};
