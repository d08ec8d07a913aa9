import type { DescField, DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import { hasOption } from "@bufbuild/protobuf";

import type { Pagination } from "../../../gen/quartet/traits/v1/api_pb.ts";
import { api, paginated, Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import {
  http,
  http_event_stream,
  http_header,
  http_label,
  http_payload,
  http_prefix_headers,
  http_query,
  http_request_url,
  http_response_code,
  ignore_case,
  media_type_json,
  percent_encoded,
  rpc_only,
  timestamp_format,
  TimestampFormat,
  wrapper,
  written_empty,
  xml_attribute,
  xml_flattened,
  xml_member_name,
  xml_omitted_empty,
  xml_positions,
  xml_root,
  xml_text,
} from "../../../gen/quartet/traits/v1/binding_pb.ts";
import type { FieldConstraints } from "./constraints.ts";
import { readConstraints } from "./constraints.ts";
import type { PathTemplate } from "./path-template.ts";
import { parsePathTemplate } from "./path-template.ts";
import type { FieldSpellings } from "./spellings.ts";
import { fieldSpellings } from "./spellings.ts";
import { readOption } from "./options.ts";

/** Where HTTP carries a member. Header names are in the documented spelling, lower case. */
export type BindingLocation =
  | { readonly kind: "label" }
  | { readonly kind: "header"; readonly name: string }
  | { readonly kind: "query"; readonly name: string }
  | { readonly kind: "prefixHeaders"; readonly prefix: string }
  | { readonly kind: "payload" }
  | { readonly kind: "statusCode" }
  | { readonly kind: "body" }
  | { readonly kind: "rpcOnly" };

/** All traits of one field, read once. */
export interface FieldContract extends FieldSpellings {
  readonly desc: DescField;
  readonly location: BindingLocation;
  /** Every location that a trait declares; more than one is a mistake in the contract. */
  readonly declaredLocations: readonly BindingLocation[];
  readonly constraints: FieldConstraints;
  /** UNSPECIFIED: the default of the location. */
  readonly timestampFormat: TimestampFormat;
  readonly isMediaTypeJson: boolean;
  /** Answers of PROTOCOL_QUERY have the text percent-encoded. */
  readonly isPercentEncoded: boolean;
  /** JSON has the text also where it is empty. */
  readonly isWrittenEmpty: boolean;
  /** Over HTTP the text is the URL of the request, less its query. */
  readonly isRequestUrl: boolean;
  /** Over HTTP the field is an event of the stream that the payload is. */
  readonly isEvent: boolean;
  /** The enumeration is read without regard to case. */
  readonly ignoresCase: boolean;
  readonly xml: XmlFacts;
}

/** How a field is written in XML. */
interface XmlFacts {
  /** The name of list elements or map entries; undefined: `member` for lists, `entry` for maps. */
  readonly memberName: string | undefined;
  readonly isFlattened: boolean;
  /** A list of the document itself is left out where it is empty, as one within its members is. */
  readonly isOmittedEmpty: boolean;
  /** The field that tells where elements of the list stand among those of the list before it; undefined: after them. */
  readonly positions: string | undefined;
  readonly isAttribute: boolean;
  /** The field is the text of its message's own element. */
  readonly isText: boolean;
}

/** All traits of one message, read once. */
export interface MessageContract {
  readonly desc: DescMessage;
  readonly fields: readonly FieldContract[];
  /** The fields that a body carries. */
  readonly bodyFields: readonly FieldContract[];
  readonly payload: FieldContract | undefined;
  /** The field that is the URL of the request over HTTP. */
  readonly requestUrl: FieldContract | undefined;
  /** The field whose messages are framed as events in the payload over HTTP. */
  readonly event: FieldContract | undefined;
  /** The field of a wrapper message; undefined: the message is not a wrapper. */
  readonly wrapped: FieldContract | undefined;
  /** The declared XML root; undefined: the writer derives it. */
  readonly xmlRoot: string | undefined;
  /** Finds a body member by any of its accepted spellings. */
  findMember(name: string): FieldContract | undefined;
}

/** The HTTP request line of a method. */
export interface HttpContract {
  readonly method: string;
  readonly template: PathTemplate;
  readonly status: number;
  readonly requiredHeaders: readonly string[];
  readonly requiredQuery: readonly string[];
  readonly isSuperseded: boolean;
  readonly hasEarlyStatus: boolean;
  readonly hasWrappedErrors: boolean;
}

/** All traits of one method, read once. */
export interface MethodContract {
  readonly desc: DescMethod;
  readonly input: MessageContract;
  readonly output: MessageContract;
  /** Undefined: the method is selected by the target header only. */
  readonly http: HttpContract | undefined;
  readonly pagination: Pagination | undefined;
}

/** The HTTP API of a service. */
export interface ServiceApi {
  readonly name: string;
  readonly protocol: Protocol;
  /** The part of the documented target header before the dot; empty where the protocol has none. */
  readonly targetPrefix: string;
  /** The API receives the requests that name no API. */
  readonly isFallback: boolean;
  /** The first segment of a path may be the first label of the host instead. */
  readonly hasVirtualHosts: boolean;
  /** Headers that are forwarded to the service, lower case, documented spelling. */
  readonly forwardedHeaders: readonly string[];
  /** Query parameters that name subresources without any operation. */
  readonly unofferedSubresources: readonly string[];
  /** The version that requests of PROTOCOL_QUERY name, and the namespace of their answers; empty for the others. */
  readonly version: string;
  readonly xmlNamespace: string;
  /** Requests without a signature reach the service. */
  readonly hasAnonymousCallers: boolean;
}

const fields = new WeakMap<DescField, FieldContract>();
const messages = new WeakMap<DescMessage, MessageContract>();
const methods = new WeakMap<DescMethod, MethodContract>();

/** The contract of a field. */
export const fieldContract = (desc: DescField): FieldContract => cached(fields, desc, readField);

/** The contract of a message. */
export const messageContract = (desc: DescMessage): MessageContract => cached(messages, desc, readMessage);

/** The contract of a method. Throws if its path template is malformed. */
export const methodContract = (desc: DescMethod): MethodContract =>
  cached(methods, desc, (method) => new DeclaredMethod(method));

/** True if the message only wraps its one list or map. */
export const isWrapper = (desc: DescMessage): boolean => readOption(desc, wrapper);

/** The HTTP API of a service; undefined: it has none. */
export const findServiceApi = (desc: DescService): ServiceApi | undefined => {
  if (!hasOption(desc, api)) return undefined;
  const declared = readOption(desc, api);
  return {
    name: declared.name,
    protocol: declared.protocol,
    targetPrefix: declared.targetPrefix,
    isFallback: declared.isFallback,
    hasVirtualHosts: declared.hasVirtualHosts,
    forwardedHeaders: declared.forwardedHeaders,
    unofferedSubresources: declared.unofferedSubresources,
    version: declared.version,
    xmlNamespace: declared.xmlNamespace,
    hasAnonymousCallers: declared.hasAnonymousCallers || declared.protocol === Protocol.REST_XML,
  };
};

/** The HTTP API of a service. Throws if it declares none. */
export const serviceApi = (desc: DescService): ServiceApi => {
  const found = findServiceApi(desc);
  if (found === undefined) throw new Error(`${desc.typeName} declares no api`);
  return found;
};

const cached = <Desc extends object, Contract>(
  cache: WeakMap<Desc, Contract>,
  desc: Desc,
  read: (desc: Desc) => Contract,
): Contract => {
  let contract = cache.get(desc);
  if (contract === undefined) {
    contract = read(desc);
    cache.set(desc, contract);
  }
  return contract;
};

const readField = (desc: DescField): FieldContract => {
  const declaredLocations = readLocations(desc);
  return {
    desc,
    ...fieldSpellings(desc),
    location: declaredLocations[0] ?? { kind: "body" },
    declaredLocations,
    constraints: readConstraints(desc),
    timestampFormat: readOption(desc, timestamp_format),
    isMediaTypeJson: readOption(desc, media_type_json),
    isPercentEncoded: readOption(desc, percent_encoded),
    isWrittenEmpty: readOption(desc, written_empty),
    isRequestUrl: readOption(desc, http_request_url),
    isEvent: readOption(desc, http_event_stream),
    ignoresCase: readOption(desc, ignore_case),
    xml: {
      memberName: readOption(desc, xml_member_name) || undefined,
      isFlattened: readOption(desc, xml_flattened),
      isOmittedEmpty: readOption(desc, xml_omitted_empty),
      positions: readOption(desc, xml_positions) || undefined,
      isAttribute: readOption(desc, xml_attribute),
      isText: readOption(desc, xml_text),
    },
  };
};

const readLocations = (desc: DescField): BindingLocation[] => {
  const locations: BindingLocation[] = [];
  if (readOption(desc, http_label)) locations.push({ kind: "label" });
  const header = readOption(desc, http_header);
  if (header !== "") locations.push({ kind: "header", name: header.toLowerCase() });
  const query = readOption(desc, http_query);
  if (query !== "") locations.push({ kind: "query", name: query });
  const prefix = readOption(desc, http_prefix_headers);
  if (prefix !== "") locations.push({ kind: "prefixHeaders", prefix: prefix.toLowerCase() });
  if (readOption(desc, http_payload)) locations.push({ kind: "payload" });
  if (readOption(desc, http_response_code)) locations.push({ kind: "statusCode" });
  if (readOption(desc, rpc_only)) locations.push({ kind: "rpcOnly" });
  return locations;
};

const readMessage = (desc: DescMessage): MessageContract => {
  const contracts = desc.fields.map(fieldContract);
  const bodyFields = contracts.filter((field) => field.location.kind === "body");
  const byName = new Map<string, FieldContract>();
  // Wire names are added last, so that no other field's alias can replace one.
  for (const field of bodyFields) for (const name of field.accepted) byName.set(name, field);
  for (const field of bodyFields) byName.set(field.wireName, field);
  if (isWrapper(desc) && contracts.length !== 1)
    throw new Error(`wrapper ${desc.typeName} must have exactly one field`);
  return {
    desc,
    fields: contracts,
    bodyFields,
    payload: contracts.find((field) => field.location.kind === "payload"),
    requestUrl: contracts.find(({ isRequestUrl }) => isRequestUrl),
    event: contracts.find(({ isEvent }) => isEvent),
    wrapped: isWrapper(desc) ? contracts[0] : undefined,
    xmlRoot: readOption(desc, xml_root) || undefined,
    findMember: (name) => byName.get(name),
  };
};

/** Reads its messages when they are used: those of all methods are most of what a gateway would read at its start. */
class DeclaredMethod implements MethodContract {
  readonly desc: DescMethod;
  readonly http: HttpContract | undefined;
  readonly pagination: Pagination | undefined;
  #input: MessageContract | undefined;
  #output: MessageContract | undefined;

  constructor(desc: DescMethod) {
    this.desc = desc;
    this.http = hasOption(desc, http) ? readHttp(desc) : undefined;
    this.pagination = hasOption(desc, paginated) ? readOption(desc, paginated) : undefined;
  }

  get input(): MessageContract {
    return (this.#input ??= messageContract(this.desc.input));
  }

  get output(): MessageContract {
    return (this.#output ??= messageContract(this.desc.output));
  }
}

const readHttp = (desc: DescMethod): HttpContract => {
  const declared = readOption(desc, http);
  return {
    method: declared.method,
    template: parsePathTemplate(declared.path),
    status: declared.status === 0 ? 200 : declared.status,
    requiredHeaders: declared.requiredHeaders.map((name) => name.toLowerCase()),
    requiredQuery: declared.requiredQuery,
    isSuperseded: declared.superseded,
    hasEarlyStatus: declared.earlyStatus,
    hasWrappedErrors: declared.wrappedErrors,
  };
};
