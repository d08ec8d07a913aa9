import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, invalidArgument } from "../faults.ts";
import { limits } from "../limits.ts";
import { chooseStorageClass } from "./storage-class.ts";
import type { TagPair } from "./tags.ts";
import { parseTagging } from "./tags.ts";

/** The members of a request that describe an object. */
export interface AttributesRequest {
  readonly cacheControl?: string;
  readonly contentDisposition?: string;
  readonly contentEncoding?: string;
  readonly contentLanguage?: string;
  readonly contentType?: string;
  readonly expires?: string;
  readonly websiteRedirectLocation?: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly tagging?: string;
  readonly storageClass?: string;
}

/** Headers that are stored with the content; an empty one was not given. */
export interface ContentHeaders {
  readonly cacheControl: string;
  readonly contentDisposition: string;
  readonly contentEncoding: string;
  readonly contentLanguage: string;
  readonly contentType: string;
  readonly expires: string;
  readonly websiteRedirectLocation: string;
}

/** The attributes of an object, as they are stored. */
export interface ObjectAttributes {
  readonly contentHeaders: ContentHeaders;
  readonly metadata: Readonly<Record<string, string>>;
  readonly tags: readonly TagPair[];
  readonly storageClass: string;
}

/** Throws KEY_TOO_LONG for a key of more bytes than a key may have. */
export const checkKey = (key: string): void => {
  const size = Buffer.byteLength(key);
  if (size > limits.keyBytesMax)
    throw fault(ErrorReason.KEY_TOO_LONG, { size: String(size), max_size_allowed: String(limits.keyBytesMax) });
};

/**
 * Reads a request's attributes. Throws, in this order: METADATA_TOO_LARGE; INVALID_ARGUMENT for text that no header can
 * hold; INVALID_REDIRECT_LOCATION; the errors of tags; INVALID_STORAGE_CLASS, unless there is only one.
 */
export const planAttributes = (request: AttributesRequest, onlyStorageClass?: string): ObjectAttributes => {
  const metadata = lowerCaseNames(request.metadata);
  checkMetadata(metadata);
  checkHeaderTexts(request);
  return {
    contentHeaders: {
      cacheControl: request.cacheControl ?? "",
      contentDisposition: request.contentDisposition ?? "",
      contentEncoding: withoutTransferCoding(request.contentEncoding ?? ""),
      contentLanguage: request.contentLanguage ?? "",
      contentType: request.contentType ?? "",
      expires: request.expires ?? "",
      websiteRedirectLocation: checkRedirect(request.websiteRedirectLocation ?? ""),
    },
    metadata,
    tags: parseTagging(request.tagging ?? ""),
    storageClass: onlyStorageClass ?? chooseStorageClass(request.storageClass),
  };
};

const lowerCaseNames = (metadata: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name.toLowerCase(), value]));

const checkMetadata = (metadata: Readonly<Record<string, string>>): void => {
  const size = Object.entries(metadata).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
  if (size > limits.metadataBytesMax)
    throw fault(ErrorReason.METADATA_TOO_LARGE, {
      size: String(size),
      max_size_allowed: String(limits.metadataBytesMax),
    });
};

/** The stored headers, by their members. */
const storedHeaders = {
  cacheControl: "Cache-Control",
  contentDisposition: "Content-Disposition",
  contentEncoding: "Content-Encoding",
  contentLanguage: "Content-Language",
  contentType: "Content-Type",
  expires: "Expires",
  websiteRedirectLocation: "x-svc-website-redirect-location",
} as const;
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// eslint-disable-next-line no-control-regex -- it matches the characters that would end or break a header.
const controlCharacter = /[\u0000-\u0008\u000a-\u001f\u007f]/;

/** Stored texts are sent as headers to every later reader, so none may contain the end of a header. */
const checkHeaderTexts = (request: AttributesRequest): void => {
  for (const [name, value] of Object.entries(request.metadata)) {
    if (!headerName.test(name)) throw invalidArgument("x-svc-meta-", name, "The metadata name is not a header name.");
    checkHeaderText(`x-svc-meta-${name}`, value);
  }
  for (const [member, header] of Object.entries(storedHeaders))
    checkHeaderText(header, request[member as keyof typeof storedHeaders] ?? "");
};

/** Throws INVALID_ARGUMENT for text with control characters. */
export const checkHeaderText = (header: string, value: string): void => {
  if (controlCharacter.test(value)) throw invalidArgument(header, value, "Header value cannot be represented.");
};

/** `aws-chunked` describes the transfer of the content, not the content. A text without it is stored as it is. */
const withoutTransferCoding = (encoding: string): string => {
  const codings = encoding.split(",").map((coding) => coding.trim());
  const kept = codings.filter((coding) => !/^(?:aws|svc)-chunked$/i.test(coding));
  return kept.length === codings.length ? encoding : kept.filter((coding) => coding !== "").join(",");
};

const checkRedirect = (location: string): string => {
  if (location !== "" && !/^(?:\/|https?:\/\/)/.test(location)) throw fault(ErrorReason.INVALID_REDIRECT_LOCATION);
  return location;
};
