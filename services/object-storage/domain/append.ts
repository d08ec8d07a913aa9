import type { VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { digestOf } from "../../kit/digests/digest.ts";
import { fault, invalidRequest } from "../faults.ts";
import { limits } from "../limits.ts";
import type { ChecksumAlgorithm } from "./checksum-algorithm.ts";
import { findChecksumAlgorithm } from "./checksum-algorithm.ts";
import { canCombine, combineCrcs } from "./crc-combination.ts";
import type { Extent } from "./extent.ts";

import { invalidState } from "./restore.ts";
import { isArchive } from "./storage-class.ts";

/** The members of a write that describe a new object. Undefined or empty ones were not given. */
export interface DescribingMembers {
  readonly acl?: string;
  readonly cacheControl?: string;
  readonly contentDisposition?: string;
  readonly contentEncoding?: string;
  readonly contentLanguage?: string;
  readonly expires?: string;
  readonly grantFullControl?: string;
  readonly grantRead?: string;
  readonly grantReadAcp?: string;
  readonly grantWriteAcp?: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly storageClass?: string;
  readonly tagging?: string;
  readonly websiteRedirectLocation?: string;
}

/** The headers that an append cannot have. Clients send a Content-Type with every body, so it is accepted. */
const refusedHeaders = {
  acl: "x-svc-acl",
  grantFullControl: "x-svc-grant-full-control",
  grantRead: "x-svc-grant-read",
  grantReadAcp: "x-svc-grant-read-acp",
  grantWriteAcp: "x-svc-grant-write-acp",
  cacheControl: "Cache-Control",
  contentDisposition: "Content-Disposition",
  contentLanguage: "Content-Language",
  expires: "Expires",
  tagging: "x-svc-tagging",
  websiteRedirectLocation: "x-svc-website-redirect-location",
} as const satisfies Partial<Record<keyof DescribingMembers, string>>;

/**
 * Throws INVALID_REQUEST for the first member that describes the object, which an append does not change: its headers,
 * metadata, tags and ACL, and a storage class that it does not have.
 */
export const checkAppendMembers = (request: DescribingMembers, { storageClass }: VersionRecord): void => {
  const given = Object.entries(refusedHeaders).find(
    ([member]) => request[member as keyof typeof refusedHeaders] !== undefined,
  );
  const [metadata] = Object.keys(request.metadata);
  const header = given?.[1] ?? (metadata === undefined ? undefined : `x-svc-meta-${metadata}`);
  if (header !== undefined) throw notForAppends(header);
  if (!/^(?:(?:aws|svc)-chunked)?$/i.test(request.contentEncoding ?? "")) throw notForAppends("Content-Encoding");
  if (request.storageClass !== undefined && request.storageClass !== storageClass)
    throw notForAppends("x-svc-storage-class");
};

/** Throws INVALID_OBJECT_STATE for an object in an archive, TOO_MANY_PARTS for one with as many as it can have. */
export const checkAppendable = ({ storageClass, parts, sizeBytes }: VersionRecord): void => {
  if (isArchive(storageClass))
    throw invalidState(storageClass, "The operation is not valid for the object's storage class");
  const count = parts.length === 0 && sizeBytes > 0n ? 1 : parts.length;
  if (count >= limits.partsPerObjectMax)
    throw fault(ErrorReason.TOO_MANY_PARTS, { max_parts: String(limits.partsPerObjectMax) });
};

/** The last extent, if what is appended is stored in one blob with it: content in the database. */
export const tailOf = ({ extents }: Pick<VersionRecord, "extents">): Extent | undefined => {
  const last = extents.at(-1);
  return last?.isInline === true ? last : undefined;
};

/** The algorithm of an object's checksum, which is computed of what is appended too. Undefined: it has none. */
export const appendedAlgorithm = ({ checksum }: VersionRecord): ChecksumAlgorithm | undefined =>
  findChecksumAlgorithm(checksum?.algorithm ?? "");

/** Content that is appended. */
export interface AppendedContent {
  readonly sizeBytes: number;
  /** What it is recognized by in ETags. */
  readonly digest: Uint8Array;
  /** In the object's algorithm; undefined if that has none. */
  readonly checksum: Uint8Array | undefined;
}

/**
 * The size, ETag, parts and checksum of an object with content appended to it. The content is a part of its own. The
 * checksum still covers all bytes where CRCs can be combined; elsewhere it becomes one of the parts' checksums, of
 * which the first is that of all content before.
 */
export const appendedObject = async (before: VersionRecord, content: AppendedContent) => {
  const algorithm = appendedAlgorithm(before);
  const former = formerParts(before, algorithm);
  const added = { partNumber: former.length + 1, sizeBytes: BigInt(content.sizeBytes), checksum: content.checksum };
  const parts = [...former, { ...added, checksum: added.checksum ?? new Uint8Array() }];
  const chained = await digestOf(
    "MD5",
    Buffer.concat([Buffer.from(before.eTag.split("-")[0] ?? "", "hex"), content.digest]),
  );
  const checksum = algorithm && (await appendedChecksum(before, algorithm, parts));
  return {
    eTag: `${Buffer.from(chained).toString("hex")}-${parts.length}`,
    sizeBytes: before.sizeBytes + added.sizeBytes,
    parts,
    ...(checksum && { checksum }),
  };
};

type Part = { readonly partNumber: number; readonly sizeBytes: bigint; readonly checksum: Uint8Array };

/** The parts before the append. Content whose checksum covers all of it and cannot be combined counts as one. */
const formerParts = (before: VersionRecord, algorithm: ChecksumAlgorithm | undefined): Part[] => {
  const { sizeBytes, checksum } = before;
  if (sizeBytes === 0n) return [];
  const isOne = algorithm !== undefined && checksum?.type === "FULL_OBJECT" && !canCombine(algorithm);
  if (before.parts.length > 0 && !isOne) return before.parts.map((part, index) => ({ ...part, partNumber: index + 1 }));
  return [{ partNumber: 1, sizeBytes, checksum: checksum?.value ?? new Uint8Array() }];
};

const appendedChecksum = async (
  { checksum, sizeBytes }: VersionRecord,
  algorithm: ChecksumAlgorithm,
  parts: readonly Part[],
) => {
  const added = parts.at(-1);
  if (checksum === undefined || added === undefined) return undefined;
  if (sizeBytes === 0n) return { algorithm, type: "FULL_OBJECT", value: added.checksum };
  if (checksum.type === "FULL_OBJECT" && canCombine(algorithm)) {
    const whole = { checksum: checksum.value, sizeBytes: Number(sizeBytes) };
    const value = combineCrcs(algorithm, [whole, { checksum: added.checksum, sizeBytes: Number(added.sizeBytes) }]);
    return { algorithm, type: "FULL_OBJECT", value };
  }
  if (parts.some((part) => part.checksum.length === 0)) return undefined;
  const value = await digestOf(algorithm, Buffer.concat(parts.map((part) => part.checksum)));
  return { algorithm, type: "COMPOSITE", value };
};

const notForAppends = (header: string) =>
  invalidRequest(`The ${header} header describes a new object and cannot be used to append to an existing one.`);
