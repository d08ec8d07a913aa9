import type { VersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, invalidRequest } from "../faults.ts";
import type { ByteRange } from "./byte-range.ts";
import { contentRange, parseRange } from "./byte-range.ts";
import type { ChecksumMembers } from "./checksum-algorithm.ts";
import { checksumMembers, encodeDigest, findChecksumAlgorithm } from "./checksum-algorithm.ts";
import { quoteETag } from "./conditions.ts";
import { instant } from "./instant.ts";
import { checkHeaderText } from "./object-attributes.ts";

/** Headers of a read's answer that the request sets instead of the stored ones. */
export interface ResponseOverrides {
  readonly responseCacheControl?: string;
  readonly responseContentDisposition?: string;
  readonly responseContentEncoding?: string;
  readonly responseContentLanguage?: string;
  readonly responseContentType?: string;
  readonly responseExpires?: string;
}

/** The part of an object that is read, and the members of the answer that describe it. */
export interface ReadSelection {
  readonly range: ByteRange;
  /** Undefined: the whole. */
  readonly contentRange: string | undefined;
  /** 206 for a part; undefined: 200. */
  readonly statusCode: number | undefined;
  readonly partsCount: number | undefined;
}

const defaultContentType = "binary/octet-stream";
const partialContent = 206;

/** Throws INVALID_REQUEST for a request that asks for a part and for a range. */
export const checkPartAndRange = (request: { readonly range?: string; readonly partNumber?: number }): void => {
  if (request.range !== undefined && request.partNumber !== undefined)
    throw invalidRequest("Cannot specify both Range header and partNumber query parameter.");
};

/**
 * Throws INVALID_ARGUMENT for an override that no header can hold, and INVALID_REQUEST for one that nobody signed: the
 * links to a public object that strangers make must not choose how it is shown.
 */
export const checkOverrides = (overrides: ResponseOverrides, isAnonymous: boolean): void => {
  const headers = {
    "response-cache-control": overrides.responseCacheControl,
    "response-content-disposition": overrides.responseContentDisposition,
    "response-content-encoding": overrides.responseContentEncoding,
    "response-content-language": overrides.responseContentLanguage,
    "response-content-type": overrides.responseContentType,
    "response-expires": overrides.responseExpires,
  };
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    checkHeaderText(name, value);
    if (isAnonymous)
      throw invalidRequest("Request specific response headers cannot be used for anonymous GET requests.");
  }
};

/** The members that show the checksum of what a read returns: of the whole, or of a part that was uploaded with one. */
export const describeReadChecksum = (
  version: VersionRecord,
  request: { readonly partNumber?: number },
  { range }: ReadSelection,
): ChecksumMembers & { readonly checksumType?: string } => {
  const part = request.partNumber === undefined ? undefined : version.parts[request.partNumber - 1];
  if (part === undefined) return range.lengthBytes === Number(version.sizeBytes) ? describeChecksum(version) : {};
  const algorithm = findChecksumAlgorithm(version.checksum?.algorithm ?? "");
  if (algorithm === undefined || part.checksum.length === 0) return {};
  return { [checksumMembers[algorithm]]: encodeDigest(part.checksum), checksumType: version.checksum?.type ?? "" };
};

/** The bytes that a read returns. Throws INVALID_PART_NUMBER and INVALID_RANGE. */
export const selectContent = (
  version: VersionRecord,
  request: { readonly range?: string; readonly partNumber?: number },
): ReadSelection => {
  const sizeBytes = Number(version.sizeBytes);
  if (request.partNumber !== undefined) return selectPart(version, request.partNumber, sizeBytes);
  const whole = { offsetBytes: 0, lengthBytes: sizeBytes };
  const selected = request.range === undefined ? { kind: "whole" as const } : parseRange(request.range, sizeBytes);
  if (selected.kind === "unsatisfiable")
    throw fault(ErrorReason.INVALID_RANGE, {
      range_requested: request.range ?? "",
      actual_object_size: String(sizeBytes),
    });
  if (selected.kind === "whole")
    return { range: whole, contentRange: undefined, statusCode: undefined, partsCount: undefined };
  return partial(selected, sizeBytes, undefined);
};

/** The members that every read returns. */
export const describeVersion = (version: VersionRecord, overrides: ResponseOverrides) => {
  const headers = version.contentHeaders;
  return {
    acceptRanges: "bytes",
    lastModified: instant(Number(version.lastModifiedMs)),
    eTag: quoteETag(version.eTag),
    cacheControl: overrides.responseCacheControl ?? shown(headers?.cacheControl),
    contentDisposition: overrides.responseContentDisposition ?? shown(headers?.contentDisposition),
    contentEncoding: overrides.responseContentEncoding ?? shown(headers?.contentEncoding),
    contentLanguage: overrides.responseContentLanguage ?? shown(headers?.contentLanguage),
    contentType: overrides.responseContentType ?? shown(headers?.contentType) ?? defaultContentType,
    expires: overrides.responseExpires ?? shown(headers?.expires),
    websiteRedirectLocation: shown(headers?.websiteRedirectLocation),
    metadata: version.metadata,
    storageClass: version.storageClass === "STANDARD" ? undefined : version.storageClass,
    replicationStatus: version.replication?.status,
    tagCount: version.tags.length === 0 ? undefined : version.tags.length,
  };
};

/** The part of a version that its checksum is shown of. */
interface WithChecksum {
  readonly checksum?: { readonly algorithm: string; readonly type: string; readonly value: Uint8Array } | undefined;
  readonly parts: readonly unknown[];
}

/**
 * The members that show a version's checksum; none if it has no checksum. That of the checksums of parts has their
 * number appended, `<base64>-<parts>`, unless `isCounted` is false.
 */
export const describeChecksum = (
  version: WithChecksum,
  isCounted = true,
): ChecksumMembers & { readonly checksumType?: string } => {
  const { checksum } = version;
  const algorithm = checksum === undefined ? undefined : findChecksumAlgorithm(checksum.algorithm);
  if (checksum === undefined || algorithm === undefined) return {};
  const suffix = isCounted && checksum.type === "COMPOSITE" ? `-${version.parts.length}` : "";
  return { [checksumMembers[algorithm]]: encodeDigest(checksum.value) + suffix, checksumType: checksum.type };
};

const selectPart = (version: VersionRecord, partNumber: number, sizeBytes: number): ReadSelection => {
  const parts = version.parts.length === 0 ? [version] : version.parts;
  const part = parts[partNumber - 1];
  if (part === undefined)
    throw fault(ErrorReason.INVALID_PART_NUMBER, {
      actual_part_count: String(parts.length),
      part_number_requested: String(partNumber),
    });
  const offsetBytes = parts.slice(0, partNumber - 1).reduce((sum, each) => sum + Number(each.sizeBytes), 0);
  const range = { offsetBytes, lengthBytes: Number(part.sizeBytes) };
  const partsCount = version.parts.length === 0 ? undefined : version.parts.length;
  if (range.lengthBytes === 0) return { range, contentRange: undefined, statusCode: undefined, partsCount };
  return partial(range, sizeBytes, partsCount);
};

const partial = (range: ByteRange, sizeBytes: number, partsCount: number | undefined): ReadSelection => ({
  range: { offsetBytes: range.offsetBytes, lengthBytes: range.lengthBytes },
  contentRange: contentRange(range, sizeBytes),
  statusCode: partialContent,
  partsCount,
});

const shown = (header: string | undefined): string | undefined => (header === "" ? undefined : header);
