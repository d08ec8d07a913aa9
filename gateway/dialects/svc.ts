import type { Dialect } from "./dialect.ts";

/** The documented dialect. Its word, by default `svc`, is part of every brand string. */
export const svcDialect = (word: string): Dialect => {
  const upper = word.toUpperCase();
  const capital = word.charAt(0).toUpperCase() + word.slice(1);
  return {
    name: "svc",
    signature: {
      algorithm: `${upper}4-HMAC-SHA256`,
      terminator: `${word}4_request`,
      keySeed: `${upper}4`,
      headerPrefix: `x-${word}-`,
      queryPrefix: `X-${capital}-`,
      streamingPrefix: `STREAMING-${upper}4-`,
      chunkedCoding: `${word}-chunked`,
    },
    providerWord: word,
    writesPublicNames: false,
    targetHeader: `x-${word}-target`,
    targetPrefixes: {},
    targetContentType: `application/x-${word}-json-1.1`,
    errorTypeHeader: `x-${word}-error-type`,
    requestIdHeader: `x-${word}-request-id`,
    xmlRequestIdHeader: `x-${word}-request-id`,
    hostIdHeader: `x-${word}-id-2`,
    xmlNamespace: undefined,
    signingNames: {
      "customer-profile": ["customer-profile"],
      "refactoring-workspace": ["refactoring-workspace"],
      "event-bus": ["event-bus"],
      "object-storage": ["object-storage"],
      "security-token": ["security-token"],
      identity: ["identity"],
    },
  };
};
