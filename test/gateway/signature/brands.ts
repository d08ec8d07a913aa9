import type { SignatureBrand } from "../../../gateway/signature/brand.ts";

/** The public spelling. */
export const amz: SignatureBrand = {
  algorithm: "AWS4-HMAC-SHA256",
  terminator: "aws4_request",
  keySeed: "AWS4",
  headerPrefix: "x-amz-",
  queryPrefix: "X-Amz-",
  streamingPrefix: "STREAMING-AWS4-",
  chunkedCoding: "aws-chunked",
};

/** The documented spelling. */
export const svc: SignatureBrand = {
  algorithm: "SVC4-HMAC-SHA256",
  terminator: "svc4_request",
  keySeed: "SVC4",
  headerPrefix: "x-svc-",
  queryPrefix: "X-Svc-",
  streamingPrefix: "STREAMING-SVC4-",
  chunkedCoding: "svc-chunked",
};
