import type { ExtentRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { ByteRange } from "./byte-range.ts";

/** A range of a blob in a manifest. */
export type Extent = Pick<ExtentRecord, "blobId" | "offsetBytes" | "lengthBytes" | "isInline">;

/** A blob that was just stored and that no manifest refers to yet: a file, or bytes to be put into the database. */
export interface NewBlob {
  readonly blobId: string;
  readonly sizeBytes: number;
  /** Its data key, sealed. */
  readonly dataKey: Uint8Array;
  /** Encrypted. Undefined: the blob is a file. */
  readonly inlineBody: Uint8Array | undefined;
}

/** A range of a blob that is to be read. */
export interface BlobRange extends ByteRange {
  readonly blobId: string;
  /** Its data key, sealed. Empty: the blob is not encrypted. */
  readonly dataKey: Uint8Array;
  /** The whole blob, as it is stored, if it is in the database; undefined: the blob is a file. */
  readonly inlineBody: Uint8Array | undefined;
}

/** The extents, or ranges of them, that hold a range of the content. */
export const sliceExtents = (extents: readonly Extent[], range: ByteRange): Extent[] => {
  const end = range.offsetBytes + range.lengthBytes;
  const slices: Extent[] = [];
  let at = 0;
  for (const { blobId, offsetBytes, lengthBytes, isInline } of extents) {
    const length = Number(lengthBytes);
    const from = Math.max(range.offsetBytes, at);
    const until = Math.min(end, at + length);
    if (from < until)
      slices.push({
        blobId,
        offsetBytes: offsetBytes + BigInt(from - at),
        lengthBytes: BigInt(until - from),
        isInline,
      });
    at += length;
  }
  return slices;
};

/** The parts of ranges that hold a part of what they hold together. */
export const sliceRanges = (ranges: readonly BlobRange[], { offsetBytes, lengthBytes }: ByteRange): BlobRange[] => {
  const slices: BlobRange[] = [];
  let at = 0;
  for (const range of ranges) {
    const from = Math.max(offsetBytes, at);
    const until = Math.min(offsetBytes + lengthBytes, at + range.lengthBytes);
    if (from < until) slices.push({ ...range, offsetBytes: range.offsetBytes + from - at, lengthBytes: until - from });
    at += range.lengthBytes;
  }
  return slices;
};
