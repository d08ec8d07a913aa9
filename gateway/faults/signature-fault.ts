import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { Dialect } from "../dialects/dialect.ts";
import type { RefusalDetails, SignatureRefusal } from "../signature/refusal.ts";
import type { HttpFault } from "./http-fault.ts";
import { targetStatus } from "./gateway-refusal.ts";

/** Words a refused signature for a protocol. Only XML answers show details, as their clients print them. */
export const signatureFault = (refusal: SignatureRefusal, protocol: Protocol, dialect: Dialect): HttpFault => {
  const { facts, details } = refusal;
  const isXml = protocol === Protocol.REST_XML;
  const name = isXml ? facts.xmlCode : facts.jsonName;
  return {
    name,
    publicName: name,
    status: isXml ? facts.xmlStatus : targetStatus(name, facts.jsonStatus, protocol),
    message: refusal.message,
    members: isXml ? detailMembers(details, dialect) : [],
    headers: {},
  };
};

/** How a detail is called in an XML answer; the detail's own name tells which it is. */
const memberNames: Readonly<Record<string, (dialect: Dialect) => string>> = {
  accessKeyId: (dialect) => `${dialect.signature.keySeed.replace(/\d+$/, "")}AccessKeyId`,
  stringToSign: () => "StringToSign",
  signature: () => "SignatureProvided",
  canonicalRequest: () => "CanonicalRequest",
  requestTime: () => "RequestTime",
  serverTime: () => "ServerTime",
  skewMsMax: () => "MaxAllowedSkewMilliseconds",
  expires: (dialect) => `${dialect.signature.queryPrefix}Expires`,
  expiresDate: () => "Expires",
  headers: () => "HeadersNotSigned",
  header: () => "ArgumentName",
  value: () => "ArgumentValue",
  given: () => "ClientComputedContentSHA256",
  computed: () => "S3ComputedContentSHA256",
};

const detailMembers = (details: RefusalDetails, dialect: Dialect): (readonly [string, string])[] => {
  // The region that a credential scope should have named is what clients correct themselves by.
  if (details["part"] !== undefined) return details["part"] === "region" ? [["Region", details["expected"] ?? ""]] : [];
  return Object.entries(details).flatMap(([key, value]) => {
    const name = memberNames[key]?.(dialect);
    return name === undefined ? [] : [[name, withoutKeys(value)] as const];
  });
};

/**
 * A canonical request without the keys and tokens that stood in its headers and query: its reader looks for what was
 * signed otherwise, and clients write refusals to their logs.
 */
const withoutKeys = (text: string): string =>
  text
    .replaceAll(/^([a-z-]*(?:customer-key|security-token)):.*$/gm, "$1:[hidden]")
    .replaceAll(/([A-Za-z-]*Security-Token=)[^&\n]*/g, "$1[hidden]");
