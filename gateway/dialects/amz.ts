import type { Dialect } from "./dialect.ts";

/** The public dialect, which stock clients use. */
export const amzDialect: Dialect = {
  name: "amz",
  signature: {
    algorithm: "AWS4-HMAC-SHA256",
    terminator: "aws4_request",
    keySeed: "AWS4",
    headerPrefix: "x-amz-",
    queryPrefix: "X-Amz-",
    streamingPrefix: "STREAMING-AWS4-",
    chunkedCoding: "aws-chunked",
  },
  providerWord: "aws",
  writesPublicNames: true,
  targetHeader: "x-amz-target",
  targetPrefixes: { "event-bus": "AWSEvents" },
  targetContentType: "application/x-amz-json-1.1",
  errorTypeHeader: "x-amzn-errortype",
  requestIdHeader: "x-amzn-requestid",
  xmlRequestIdHeader: "x-amz-request-id",
  hostIdHeader: "x-amz-id-2",
  xmlNamespace: "http://s3.amazonaws.com/doc/2006-03-01/",
  signingNames: {
    "customer-profile": ["profile"],
    "refactoring-workspace": ["refactor-spaces"],
    "event-bus": ["events"],
    "security-token": ["sts"],
    identity: ["iam"],
    "object-storage": ["s3", "s3-object-lambda", "s3-outposts"],
  },
};
