import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { FaultFacts, FaultMetadata, ServiceError } from "../../services/kit/faults/service-error.ts";
import { faultNaming, fillMessage } from "../../services/kit/faults/service-error.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { withoutSecrets } from "../reports/hidden-secrets.ts";
import { brandName } from "../signature/brand.ts";
import { cutValues } from "./echoed-values.ts";
import type { HttpFault } from "./http-fault.ts";
import { memberName } from "./http-fault.ts";

/** The answer to a refusal of the gateway itself. Only XML answers show metadata, because their clients print it. */
export const gatewayFault = (error: ServiceError, protocol: Protocol, dialect: Dialect): HttpFault => {
  const { facts } = error;
  const metadata = cutValues(error.metadata);
  const { name, publicName, httpStatus, message } = faultNaming(facts, protocol);
  return {
    name,
    publicName,
    status: httpStatus,
    message: fillMessage(message, metadata),
    members: shownMembers(facts, metadata, protocol, dialect),
    headers: furtherHeaders(httpStatus, metadata, protocol),
  };
};

/** A client that has signed for another region corrects itself by a header, because an answer to HEAD has no body. */
const furtherHeaders = (httpStatus: number, { region }: FaultMetadata, protocol: Protocol): HttpFault["headers"] => {
  if (httpStatus === 503) return { "retry-after": "1" };
  return protocol === Protocol.REST_XML && region !== undefined ? { "x-svc-bucket-region": region } : {};
};

/** The members by which answers show metadata keys of the gateway's reasons. */
export const gatewayMembers = (keys: readonly string[], protocol: Protocol, dialect: Dialect): string[] =>
  protocol === Protocol.REST_XML ? keys.map((key) => memberOf(key, dialect)) : [];

const memberOf = (key: string, dialect: Dialect): string => brandMembers[key]?.(dialect) ?? memberName(key);

/** Members whose names contain a brand string of the dialect. */
const brandMembers: Readonly<Record<string, (dialect: Dialect) => string>> = {
  access_key_id: ({ signature }) => `${brandName(signature)}AccessKeyId`,
  expires_seconds: ({ signature }) => `${signature.queryPrefix}Expires`,
};

const shownMembers = (
  { hiddenMembers }: FaultFacts,
  metadata: FaultMetadata,
  protocol: Protocol,
  dialect: Dialect,
): (readonly [string, string])[] =>
  Object.entries(metadata)
    .filter(([key]) => !hiddenMembers.includes(key))
    .flatMap(([key, value]) =>
      gatewayMembers([key], protocol, dialect).map((member) => [member, withoutSecrets(value)] as const),
    );
