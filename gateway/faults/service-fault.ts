import type { ConnectError } from "@connectrpc/connect";
import { Code } from "@connectrpc/connect";

import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import { FaultRole } from "../../gen/quartet/traits/v1/fault_pb.ts";
import type { FaultFacts, FaultMetadata, FaultTable } from "../../services/kit/faults/service-error.ts";
import { faultNaming, fillMessage, ServiceError } from "../../services/kit/faults/service-error.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import type { FaultContext } from "./fault-context.ts";
import { cutValues } from "./echoed-values.ts";
import type { HttpFault } from "./http-fault.ts";
import { memberName } from "./http-fault.ts";
import { renameMembers } from "./member-names.ts";
import { violatedConstraints } from "./violations.ts";

/**
 * The answer to a failed call. A failure without a declared reason is answered by the reason of the role that its RPC
 * code means. Documented names in the service's texts are replaced by those of the caller's dialect.
 */
export const serviceFault = (error: ConnectError, context: FaultContext): HttpFault => {
  const { table, protocol } = context;
  const info = error.findDetails(ErrorInfoSchema).find(({ domain }) => domain === table.domain);
  const declared = info === undefined ? undefined : table.findByReason(info.reason);
  if (declared === undefined || info === undefined) return undeclaredFault(error.code, table, protocol);
  // The deadline is the gateway's own; the names of services for it would say that the client was slow.
  if (declared.role === FaultRole.DEADLINE) return undeclaredFault(Code.Unavailable, table, protocol);
  const constraints = declared.role === FaultRole.INVALID_INPUT ? violatedConstraints(context) : undefined;
  if (constraints !== undefined) return declaredFault(constraints, protocol);

  const metadata = spelledMetadata(declared, cutValues(info.metadata), context);
  const message = metadata === info.metadata ? error.rawMessage : fillMessage(declared.message, metadata);
  return withMethod(createFault(declared, message, metadata, forwardedHeaders(error.metadata), protocol), context);
};

/** The public service names the method of HTTP where it refuses a method; a service does not know it. */
const withMethod = (fault: HttpFault, { protocol, bound }: FaultContext): HttpFault => {
  const method = bound?.method.http?.method;
  if (fault.status !== 405 || protocol !== Protocol.REST_XML || method === undefined) return fault;
  return { ...fault, members: [["Method", method], ...fault.members] };
};

const spelledMetadata = (facts: FaultFacts, metadata: FaultMetadata, context: FaultContext): FaultMetadata => {
  const keys = facts.spelledMetadata.filter((key) => metadata[key] !== undefined);
  if (keys.length === 0) return metadata;
  const spell = (text: string, spelling: DialectSpelling): string =>
    renameMembers(text, context.bound?.method, spelling);
  return { ...metadata, ...Object.fromEntries(keys.map((key) => [key, spell(metadata[key] ?? "", context.spelling)])) };
};

/** The answer to a refusal with a service's reason that the gateway throws, such as a member of the wrong type. */
export const declaredFault = (error: ServiceError, protocol: Protocol): HttpFault =>
  createFault(
    error.facts,
    fillMessage(error.facts.message, cutValues(error.metadata)),
    cutValues(error.metadata),
    {},
    protocol,
  );

/** The answer to a failure without a reason, by the service's own reason for the role of its code. */
export const undeclaredFault = (code: Code, table: FaultTable, protocol: Protocol): HttpFault => {
  const role = roles[code];
  const facts = table.all().find((each) => each.role === role) ?? table.byRole(FaultRole.INTERNAL);
  const { message } = new ServiceError(facts, {});
  return createFault(facts, message, {}, {}, protocol);
};

/** The role of each RPC code without a reason; typed over every code, so that none can be missing. */
const roles: Readonly<Record<Code, FaultRole>> = {
  [Code.Canceled]: FaultRole.UNAVAILABLE,
  [Code.Unknown]: FaultRole.INTERNAL,
  [Code.InvalidArgument]: FaultRole.INTERNAL,
  [Code.DeadlineExceeded]: FaultRole.UNAVAILABLE,
  [Code.NotFound]: FaultRole.INTERNAL,
  [Code.AlreadyExists]: FaultRole.INTERNAL,
  [Code.PermissionDenied]: FaultRole.ACCESS_DENIED,
  [Code.ResourceExhausted]: FaultRole.THROTTLED,
  [Code.FailedPrecondition]: FaultRole.INTERNAL,
  [Code.Aborted]: FaultRole.UNAVAILABLE,
  [Code.OutOfRange]: FaultRole.INTERNAL,
  [Code.Unimplemented]: FaultRole.NOT_IMPLEMENTED,
  [Code.Internal]: FaultRole.INTERNAL,
  [Code.Unavailable]: FaultRole.UNAVAILABLE,
  [Code.DataLoss]: FaultRole.INTERNAL,
  [Code.Unauthenticated]: FaultRole.UNAUTHENTICATED,
};

/** Metadata of a violated constraint that the message contains already. */
const messageMetadata = new Set(["violations", "violation_count", "plural", "member"]);

const createFault = (
  facts: FaultFacts,
  message: string,
  metadata: FaultMetadata,
  headers: Readonly<Record<string, string>>,
  protocol: Protocol,
): HttpFault => {
  const isShown = (key: string): boolean =>
    !facts.hiddenMembers.includes(key) && !(facts.role === FaultRole.INVALID_INPUT && messageMetadata.has(key));
  const { name, publicName, httpStatus } = faultNaming(facts, protocol);
  const isBusy = httpStatus === 503 || httpStatus === 429;
  return {
    name,
    publicName,
    status: httpStatus,
    message,
    members: Object.keys(metadata)
      .toSorted()
      .filter(isShown)
      .map((key) => [memberName(key), metadata[key] ?? ""] as const),
    headers: isBusy ? { "retry-after": "1", ...headers } : headers,
  };
};

/** Headers that a handler set with its refusal, such as that of a delete marker. */
const forwardedHeaders = (metadata: Headers): Record<string, string> => {
  const headers: Record<string, string> = {};
  for (const [name, value] of metadata) if (name.startsWith("x-svc-") || plainHeaders.has(name)) headers[name] = value;
  return headers;
};

const plainHeaders = new Set(["etag", "last-modified", "cache-control", "expires", "retry-after", "allow", "location"]);
