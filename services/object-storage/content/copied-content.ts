import type { Transaction } from "../../kit/store/store.ts";
import type { ByteRange } from "../domain/byte-range.ts";
import type { ChecksumAlgorithm } from "../domain/checksum-algorithm.ts";
import { planChecksums } from "../domain/expected-checksums.ts";
import type { Extent } from "../domain/extent.ts";
import { sliceExtents } from "../domain/extent.ts";
import type { NewEncryption } from "../encryption/content-encryption.ts";
import { isUnderSameKey, openContentKey } from "../encryption/content-encryption.ts";
import type { CustomerKey } from "../encryption/customer-key.ts";
import { adoptBlob, shareExtents } from "../store/blob.ts";
import { rangesOf } from "../store/object.ts";
import type { SourceContext, SourceVersion } from "./copy-source-lookup.ts";
import { digestSource } from "./copy-source-lookup.ts";

/** What is copied, and how it is encrypted before and after. */
export interface CopyPlan {
  readonly source: SourceVersion;
  readonly sourceKey: CustomerKey | undefined;
  readonly range: ByteRange;
  readonly encryption: NewEncryption;
  /** The checksum that is computed of the content. Undefined: none need be. */
  readonly algorithm: ChecksumAlgorithm | undefined;
}

/** The content of a copy, to which no manifest refers yet. */
export interface CopiedContent {
  /** Undefined: the content was not read. */
  readonly digests: { readonly md5: Uint8Array; readonly checksum: Uint8Array } | undefined;
  /** The content was encrypted again, so it is in a blob of its own. */
  readonly isRewritten: boolean;
  /** Adds the references of a manifest, and returns its extents. */
  adopt(transaction: Transaction): Promise<Extent[]>;
}

/**
 * Passes the content of a copy to `commit`, which must make a manifest refer to it. Content that stays under the same
 * key is shared, and read only for a checksum; other content is decrypted and encrypted piece by piece. Throws as
 * `ContentStore.receive` and `read` do.
 */
export const copyContent = async <T>(
  context: Pick<SourceContext, "app" | "signal">,
  { source, sourceKey, range, encryption, algorithm }: CopyPlan,
  commit: (content: CopiedContent) => Promise<T>,
): Promise<T> => {
  const { app, signal } = context;
  const { version } = source;
  const isShared = version.extents.length === 0 || isUnderSameKey(version.encryption, encryption);
  if (isShared && algorithm === undefined) return commit(shared(source, range, undefined));
  const contentKey = await openContentKey(app, version.encryption, sourceKey);
  if (isShared)
    return commit(shared(source, range, await digestSource(context, source, range, contentKey, algorithm ?? "CRC32")));

  const ranges = await app.store.read((reader) => rangesOf(reader, version, range));
  const { lengthBytes } = range;
  return app.content.receive(
    { body: app.content.read(ranges, contentKey), trailer: () => ({}) },
    {
      checksums: planChecksums(algorithm === undefined ? {} : { checksumAlgorithm: algorithm }),
      sizeBytes: lengthBytes,
      sizeBytesMax: lengthBytes,
    },
    encryption.contentKey,
    signal,
    ({ md5, checksum, blob }) =>
      commit({
        digests: { md5, checksum: checksum.value },
        isRewritten: true,
        adopt: async (transaction) => adoptBlob(transaction, blob),
      }),
  );
};

const shared = ({ version }: SourceVersion, range: ByteRange, digests: CopiedContent["digests"]): CopiedContent => ({
  digests,
  isRewritten: false,
  adopt: async (transaction) => {
    const extents = sliceExtents(version.extents, range);
    await shareExtents(transaction, extents);
    return extents;
  },
});
