import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, invalidArgument, invalidRequest } from "../faults.ts";
import type { ByteRange } from "./byte-range.ts";
import { parseCopyRange } from "./byte-range.ts";
import { isBucketArn } from "./bucket-name.ts";
import type { ConditionSubject } from "./conditions.ts";
import { evaluateReadConditions } from "./conditions.ts";
import type { Instant } from "./instant.ts";
import { instantMs } from "./instant.ts";

/** The object that a copy reads. */
export interface CopySource {
  readonly bucket: string;
  readonly key: string;
  /** Undefined: the current version. */
  readonly versionId: string | undefined;
}

/** Conditions on the source of a copy. */
export interface CopyConditions {
  readonly copySourceIfMatch?: string;
  readonly copySourceIfNoneMatch?: string;
  readonly copySourceIfModifiedSince?: Instant;
  readonly copySourceIfUnmodifiedSince?: Instant;
}

/**
 * Parses `bucket/key`, URL-encoded, with an optional leading slash and `?versionId=`. A plus is a space, because
 * clients encode the source as a form value. Instead of a bucket it may have the ARN of an access point or of a
 * deployment on premises, with `/object/` before the key. Throws INVALID_ARGUMENT for any other text.
 */
export const parseCopySource = (text: string): CopySource => {
  const [path = "", versionId] = text.split(/\?versionId=(.*)$/s);
  const decoded = decode(path.replaceAll("+", " "), text).replace(/^\//, "");
  const [, bucket, key] = (isBucketArn(decoded) ? objectArn : bucketAndKey).exec(decoded) ?? [];
  if (bucket === undefined || key === undefined) throw malformed(text);
  return {
    bucket,
    key,
    versionId: versionId === undefined ? undefined : decode(versionId, text),
  };
};

const bucketAndKey = /^([^/]+)\/(.+)$/s;
const objectArn = /^(arn:[^/]+(?:\/[^/]+){1,3}?)\/object\/(.+)$/s;

/** Throws PRECONDITION_FAILED unless the conditions on the source hold; a failure is 412, never 304. */
export const checkCopyConditions = (request: CopyConditions, subject: ConditionSubject, nowMs: number): void => {
  const { copySourceIfModifiedSince: modified, copySourceIfUnmodifiedSince: unmodified } = request;
  const outcome = evaluateReadConditions(
    {
      ifMatch: request.copySourceIfMatch,
      ifNoneMatch: request.copySourceIfNoneMatch,
      ifModifiedSinceMs: modified === undefined ? undefined : instantMs(modified),
      ifUnmodifiedSinceMs: unmodified === undefined ? undefined : instantMs(unmodified),
    },
    subject,
    nowMs,
  );
  if (outcome.kind === "proceed") return;
  const header =
    outcome.kind === "failed"
      ? outcome.condition
      : request.copySourceIfNoneMatch === undefined
        ? "If-Modified-Since"
        : "If-None-Match";
  throw fault(ErrorReason.PRECONDITION_FAILED, { condition: `x-svc-copy-source-${header}` });
};

/**
 * The bytes of the source that a part copy reads. Throws INVALID_ARGUMENT, or INVALID_REQUEST for a start past the end.
 */
export const selectCopyRange = (header: string | undefined, sizeBytes: number): ByteRange => {
  if (header === undefined) return { offsetBytes: 0, lengthBytes: sizeBytes };
  const range = parseCopyRange(header);
  if (range === undefined)
    throw invalidArgument(
      "x-svc-copy-source-range",
      header,
      "The x-svc-copy-source-range value must be of the form bytes=first-last where first and last are the " +
        "zero-based offsets of the first and last bytes to copy",
    );
  if (range.first >= sizeBytes) throw invalidRequest("The specified copy range is invalid for the source object size");
  if (range.last >= sizeBytes)
    throw invalidArgument(
      "x-svc-copy-source-range",
      header,
      `Range specified is not valid for source object of size: ${sizeBytes}`,
    );
  return { offsetBytes: range.first, lengthBytes: range.last - range.first + 1 };
};

const decode = (part: string, whole: string): string => {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw malformed(whole);
  }
};

const malformed = (text: string) =>
  invalidArgument(
    "x-svc-copy-source",
    text,
    "Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
  );
