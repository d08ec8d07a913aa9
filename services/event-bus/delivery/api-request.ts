import type { ApiDestinationRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ApiDestinationHttpMethodSchema } from "../../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import type {
  ConnectionHttpParameters,
  CreateConnectionAuthParameters,
} from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import type { HttpParameters } from "../../../gen/quartet/eventbus/v1/target_parameters_pb.ts";
import { currentTraceHeaders } from "../../kit/trace/current-trace.ts";
import { attributeHeaderValue } from "../domain/cloud-event.ts";
import { dynamicValue } from "../domain/dynamic-value.ts";
import type { NamedValue } from "../domain/outgoing-headers.ts";
import { outgoingHeaders } from "../domain/outgoing-headers.ts";
import { JsonCursor, openBrace } from "../json/json-cursor.ts";
import type { PathReader } from "../json/json-path.ts";
import type { AttemptContent } from "./attempt-content.ts";
import type { OutgoingRequest } from "../../kit/outgoing/http-sender.ts";

/** The parts of a request to an API destination. */
interface ApiRequestParts {
  readonly destination: Readonly<ApiDestinationRecord>;
  readonly auth: CreateConnectionAuthParameters;
  /** The token of an OAuth connection; undefined for the other kinds. */
  readonly token: string | undefined;
  readonly parameters: HttpParameters | undefined;
  readonly content: AttemptContent;
  /** Reads the whole event as JSON; the target's parameters may refer to its members. */
  readonly event: () => PathReader;
}

/**
 * The request of one delivery, with the headers of the trace in which the event was put. Parameters of the connection
 * win over those of the target. Throws TypeError if the endpoint is not a URL.
 */
export const apiRequest = (parts: ApiRequestParts): OutgoingRequest => {
  const { destination, auth, parameters, content, event } = parts;
  const invocation = auth.invocationHttpParameters;
  const method = methodName(destination);
  return {
    method,
    url: requestUrl(destination, parameters, invocation, event),
    // The names of these are lower-case, and all other headers win over them.
    headers: { ...currentTraceHeaders(), ...ownHeaders(parts) },
    body:
      method === "GET" || method === "HEAD"
        ? undefined
        : withMembers(content.body, parametersOf(invocation?.bodyParameters)),
  };
};

/** The headers of requests that differ in nothing but their bodies. */
interface FixedHeaders {
  readonly contentType: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** The headers of the last request with the credentials of a connection, if they are those of others. */
const fixedHeaders = new WeakMap<CreateConnectionAuthParameters, FixedHeaders>();

const ownHeaders = ({ auth, token, parameters, content, event }: ApiRequestParts): Readonly<Record<string, string>> => {
  const dynamic = dynamicEntries(parameters?.headerParameters, event);
  const isFixed = dynamic.length === 0 && token === undefined && content.attributes.length === 0;
  const fixed = isFixed ? fixedHeaders.get(auth) : undefined;
  if (fixed !== undefined && fixed.contentType === content.contentType) return fixed.headers;
  const headers = outgoingHeaders(
    contentHeaders(content),
    dynamic,
    parametersOf(auth.invocationHttpParameters?.headerParameters),
    authorizationHeaders(auth, token),
  );
  if (isFixed) fixedHeaders.set(auth, { contentType: content.contentType, headers });
  return headers;
};

/** The parameters of a connection that have a name; one without a value has an empty one. */
export const parametersOf = (
  parameters: readonly { readonly key?: string; readonly value?: string }[] | undefined,
): NamedValue[] =>
  (parameters ?? []).flatMap(({ key, value }) => (key === undefined ? [] : [[key, value ?? ""] as const]));

/** Sets query parameters of a URL; each replaces those of the same name. */
export const setQuery = (url: URL, parameters: readonly NamedValue[]): void => {
  for (const [name, value] of parameters) url.searchParams.set(name, value);
};

const methodNames = new Map(
  ApiDestinationHttpMethodSchema.values.map(({ number, name }) => [
    number,
    name.replace("API_DESTINATION_HTTP_METHOD_", "") as OutgoingRequest["method"],
  ]),
);

const methodName = ({ httpMethod }: Readonly<ApiDestinationRecord>): OutgoingRequest["method"] =>
  methodNames.get(httpMethod) ?? ("" as OutgoingRequest["method"]);

/** The URLs of destinations that have neither placeholders nor parameters. */
const fixedUrls = new WeakMap<Readonly<ApiDestinationRecord>, URL>();

const requestUrl = (
  destination: Readonly<ApiDestinationRecord>,
  parameters: HttpParameters | undefined,
  invocation: ConnectionHttpParameters | undefined,
  event: () => PathReader,
): URL => {
  const { invocationEndpoint: endpoint } = destination;
  const dynamic = dynamicEntries(parameters?.queryStringParameters, event);
  const fixed = parametersOf(invocation?.queryStringParameters);
  if (dynamic.length === 0 && fixed.length === 0 && !endpoint.includes("*")) {
    const url = fixedUrls.get(destination) ?? new URL(endpoint);
    fixedUrls.set(destination, url);
    return url;
  }
  const values = [...(parameters?.pathParameterValues ?? [])];
  const url = new URL(endpoint);
  url.pathname = url.pathname.replaceAll("*", () => encodeURIComponent(dynamicValue(values.shift() ?? "", event())));
  setQuery(url, dynamic);
  setQuery(url, fixed);
  return url;
};

const dynamicEntries = (
  parameters: Readonly<Record<string, string>> | undefined,
  event: () => PathReader,
): NamedValue[] =>
  parameters === undefined
    ? []
    : Object.entries(parameters).map(([name, value]) => [name, dynamicValue(value, event())]);

const authorizationHeaders = (auth: CreateConnectionAuthParameters, token: string | undefined): NamedValue[] => {
  const { basicAuthParameters: basic, apiKeyAuthParameters: apiKey } = auth;
  if (basic !== undefined) {
    const credentials = Buffer.from(`${basic.username}:${basic.password}`).toString("base64");
    return [["authorization", `Basic ${credentials}`]];
  }
  if (apiKey !== undefined) return [[apiKey.apiKeyName.trim(), apiKey.apiKeyValue]];
  return token === undefined ? [] : [["authorization", `Bearer ${token}`]];
};

/** The headers that describe a content: its type, and the attributes of a CloudEvent. */
export const contentHeaders = ({ contentType, attributes }: AttemptContent): NamedValue[] => [
  ...(contentType === undefined ? [] : [["content-type", contentType] as const]),
  ...attributes.map(([name, value]) => [`ce-${name}`, attributeHeaderValue(value)] as const),
];

/** A JSON object with members set; each replaces those of the same name. Any other text is returned unchanged. */
const withMembers = (input: string | Buffer, members: readonly NamedValue[]): string | Buffer => {
  if (members.length === 0 || typeof input !== "string") return input;
  const cursor = new JsonCursor(input);
  if (cursor.peek() !== openBrace) return input;
  const names = new Set(members.map(([name]) => name));
  const kept: string[] = [];
  cursor.enter();
  while (cursor.hasMore()) {
    const name = cursor.memberName();
    const value = cursor.value();
    if (!names.has(name)) kept.push(`${JSON.stringify(name)}:${value}`);
  }
  const added = members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{${[...kept, ...added].join()}}`;
};
