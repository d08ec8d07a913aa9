import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { FieldContract, MessageContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import type { ExportedOperation, ExportSource } from "./export-source.ts";
import { operationsOf, targetPrefixOf, titleOf } from "./export-source.ts";
import type { Schema, SchemaBook } from "./openapi-schemas.ts";
import { createSchemaBook, described, isRaw } from "./openapi-schemas.ts";
import type { DocumentedError } from "./documented-errors.ts";

/** The version of the documents; it changes when a document changes incompatibly. */
const documentVersion = "1.0.0";

/**
 * Writes an API as an OpenAPI 3.1 document.
 *
 * Operations that share a path and a method and differ in a query parameter or a header have a path of their own: the
 * path with a fragment that names the condition (`/{Bucket}#versioning`). Requests have no fragment, so the path is
 * correct, and the condition is a required parameter.
 */
export const openApiDocument = (source: ExportSource): Schema => {
  const book = createSchemaBook(source);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operationsOf(source)) {
    const path = (paths[pathOf(source, operation)] ??= {});
    path[operation.httpMethod.toLowerCase()] = describeOperation(source, operation, book);
  }
  const responses = statusesOf(source.errors).map((status) => [`Status${status}`, refusalResponse(source, status)]);
  return {
    openapi: "3.1.0",
    info: {
      title: titleOf(source.api.name),
      version: documentVersion,
      ...described(source.describe(source.service)),
    },
    servers: [
      { url: `http://127.0.0.1:8080/${source.api.name}`, description: "A gateway with default settings." },
      { url: `/${source.api.name}`, description: "The path prefix of the API on any gateway." },
    ],
    tags: tagsOf(source).map((name) => ({ name })),
    security: [{ signature: [] }],
    paths: Object.fromEntries(Object.entries(paths).toSorted(([left], [right]) => (left < right ? -1 : 1))),
    components: {
      schemas: Object.fromEntries(Object.entries(book.schemas).toSorted(([left], [right]) => (left < right ? -1 : 1))),
      responses: Object.fromEntries(responses) as Schema,
      securitySchemes: { signature: signatureScheme(source) },
    },
  };
};

const signatureScheme = ({ spelling }: ExportSource): Schema => ({
  type: "apiKey",
  in: "header",
  name: "Authorization",
  description: `A signature of the request, ${spelling.dialect.signature.algorithm}.`,
});

/** The path without its query; its fragment has the conditions that distinguish the operations of the path. */
const pathOf = (source: ExportSource, { desc, contract }: ExportedOperation): string => {
  const { http } = contract;
  if (http === undefined) return `/#${targetPrefixOf(source)}.${desc.name}`;
  const path = http.template.text.replace(/\?.*$/, "").replaceAll("+}", "}");
  const query = http.template.query.map(({ name, value }) => (value === undefined ? name : `${name}=${value}`));
  const headers = http.requiredHeaders.map((name) => source.spelling.header(name));
  const conditions = [...query, ...http.requiredQuery, ...headers, ...(http.isSuperseded ? [`x-id=${desc.name}`] : [])];
  return conditions.length === 0 ? path : `${path}#${conditions.join("&")}`;
};

/** The nouns of operations whose second word alone says too little or another thing. */
const nouns: Readonly<Record<string, string>> = {
  Api: "ApiDestination",
  Auto: "IdentityResolution",
  Dead: "DeadLetter",
  Discovered: "Schema",
  Get: "Object",
  Identity: "IdentityResolution",
  Multipart: "MultipartUpload",
  Part: "MultipartUpload",
  Parts: "MultipartUpload",
  Public: "Bucket",
  Similar: "Match",
};

/** What an operation is about, by its name without the verb: `PutBucketCors` is about a bucket. */
const tagOf = (name: string): string => {
  if (name.endsWith("Matches")) return "Match";
  const [, noun = ""] = /^[A-Z][a-z]+([A-Z][a-z]+)?/.exec(name) ?? [];
  return nouns[noun] ?? noun.replace(/ies$/, "y").replace(/([^su])s$/, "$1");
};

const tagsOf = (source: ExportSource): string[] =>
  [...new Set(operationsOf(source).map(({ desc }) => tagOf(desc.name)))].toSorted((one, other) =>
    one < other ? -1 : 1,
  );

const describeOperation = (source: ExportSource, operation: ExportedOperation, book: SchemaBook): Schema => {
  const { desc, contract } = operation;
  const body = requestBody(source, contract.input, book);
  return {
    operationId: desc.name,
    tags: [tagOf(desc.name)],
    "x-quartet-offered": !source.unoffered.has(desc.name),
    ...described(source.describe(desc)),
    parameters: [...conditions(source, operation), ...parameters(source, contract.input, book)],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      [operation.status]: answer(source, operation, book),
      ...Object.fromEntries(
        statusesOf(source.errors)
          .filter((status) => status !== operation.status)
          .map((status) => [status, { $ref: `#/components/responses/Status${status}` }]),
      ),
    },
  };
};

const fixed = (place: string, name: string, value: string): Schema => ({
  name,
  in: place,
  required: true,
  schema: { type: "string", const: value },
});

/** The required parameters that are not members. */
const conditions = (source: ExportSource, { desc, contract }: ExportedOperation): Schema[] => {
  const { http } = contract;
  if (http === undefined)
    return [fixed("header", source.spelling.dialect.targetHeader, `${targetPrefixOf(source)}.${desc.name}`)];
  return [
    ...http.template.query.map(({ name, value }) => fixed("query", name, value ?? "")),
    ...(http.isSuperseded ? [fixed("query", "x-id", desc.name)] : []),
  ];
};

const parameters = (source: ExportSource, input: MessageContract, book: SchemaBook): Schema[] =>
  input.fields.flatMap((field): Schema[] => {
    const named = parameterName(source, field);
    if (named === undefined) return [];
    const { description, ...schema } = book.member(field);
    return [
      {
        ...named,
        required: field.location.kind === "label" || field.constraints.isRequired,
        ...(description === undefined ? {} : { description }),
        schema,
      },
    ];
  });

/** Undefined if the member is not a parameter. */
const parameterName = ({ spelling }: ExportSource, field: FieldContract): Schema | undefined => {
  const { location } = field;
  if (location.kind === "label") return { name: field.wireName, in: "path" };
  if (location.kind === "query") return { name: location.name, in: "query" };
  if (location.kind === "header") return { name: spelling.header(location.name), in: "header" };
  return location.kind === "prefixHeaders" ? { name: `${spelling.header(location.prefix)}*`, in: "header" } : undefined;
};

const mediaTypeOf = ({ api, spelling }: ExportSource): string => {
  if (api.protocol === Protocol.REST_XML) return "application/xml";
  return api.protocol === Protocol.TARGET_JSON ? spelling.dialect.targetContentType : "application/json";
};

const requestBody = (source: ExportSource, input: MessageContract, book: SchemaBook): Schema | undefined => {
  const { payload } = input;
  if (payload !== undefined)
    return { required: payload.constraints.isRequired, content: payloadContent(source, payload, book) };
  if (input.bodyFields.length === 0 && source.api.protocol !== Protocol.TARGET_JSON) return undefined;
  const required = input.bodyFields.some(({ constraints }) => constraints.isRequired);
  return {
    required: required || source.api.protocol === Protocol.TARGET_JSON,
    content: documentContent(source, input, book, input.desc.name),
  };
};

const answer = (
  source: ExportSource,
  { desc, contract, httpMethod, status }: ExportedOperation,
  book: SchemaBook,
): Schema => {
  const { output } = contract;
  const headers = output.fields.flatMap((field): [string, Schema][] => {
    const named = parameterName(source, field);
    if (named?.in !== "header") return [];
    const { description, ...schema } = book.member(field);
    return [[named.name as string, { ...(description === undefined ? {} : { description }), schema }]];
  });
  const hasBody = httpMethod !== "HEAD" && status !== 204;
  const content =
    output.payload === undefined
      ? documentContent(source, output, book, desc.output.name.replace(/Response$/, ""))
      : payloadContent(source, output.payload, book);
  return {
    description: source.describe(desc.output) ?? "Success.",
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
    ...(hasBody && content !== undefined ? { content } : {}),
  };
};

/** Undefined if there is no document. */
const documentContent = (
  source: ExportSource,
  message: MessageContract,
  book: SchemaBook,
  defaultRoot: string,
): Schema | undefined => {
  const isXml = source.api.protocol === Protocol.REST_XML;
  if (isXml && message.bodyFields.length === 0) return undefined;
  const schema = book.message(message.desc);
  const root = message.xmlRoot ?? defaultRoot;
  return { [mediaTypeOf(source)]: { schema: isXml ? rooted(source, schema, root) : schema } };
};

const payloadContent = (source: ExportSource, payload: FieldContract, book: SchemaBook): Schema => {
  const { message } = payload.desc;
  if (message === undefined || isRaw(payload.desc)) return { "application/octet-stream": {} };
  const schema = book.message(message);
  const root = messageContract(message).xmlRoot ?? payload.wireName;
  const isXml = source.api.protocol === Protocol.REST_XML;
  return { [mediaTypeOf(source)]: { schema: isXml ? rooted(source, schema, root) : schema } };
};

const rooted = ({ spelling }: ExportSource, schema: Schema, name: string): Schema => {
  const { xmlNamespace } = spelling.dialect;
  return { allOf: [schema], xml: { name, ...(xmlNamespace === undefined ? {} : { namespace: xmlNamespace }) } };
};

const statusesOf = (errors: readonly DocumentedError[]): number[] =>
  [...new Set(errors.map(({ status }) => status))].toSorted((left, right) => left - right);

const refusalResponse = (source: ExportSource, status: number): Schema => {
  const errors = source.errors.filter((each) => each.status === status);
  const names = errors.map(({ name }) => name);
  const members = [...new Set(errors.flatMap((each) => each.members))].toSorted();
  const texts = Object.fromEntries(members.map((name) => [name, { type: "string" }]));
  const isXml = source.api.protocol === Protocol.REST_XML;
  const code = { type: "string", enum: names };
  const schema = isXml
    ? {
        type: "object",
        properties: { Code: code, Message: text, ...texts, Resource: text, RequestId: text, HostId: text },
        required: ["Code", "Message"],
        xml: { name: "Error" },
      }
    : { type: "object", properties: { __type: code, message: text, ...texts }, required: ["__type", "message"] };
  return {
    description: names.join(", "),
    ...(status === 304 ? {} : { content: { [mediaTypeOf(source)]: { schema } } }),
  };
};

const text: Schema = { type: "string" };
