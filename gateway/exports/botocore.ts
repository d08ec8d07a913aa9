import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";

import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import type { BotocoreShape, ShapeBook } from "./botocore-shapes.ts";
import { createShapeBook, documentation, namespaceOf } from "./botocore-shapes.ts";
import type { ExportedOperation, ExportSource } from "./export-source.ts";
import { memberName, operationsOf, targetPrefixOf, titleOf } from "./export-source.ts";

/**
 * The version of the models, a date, because loaders require one. It changes when a model changes incompatibly.
 */
export const modelVersion = "2026-01-01";

/** The files of one API: `<api>/<modelVersion>/service-2.json` and `paginators-1.json` next to it. */
export interface BotocoreModel {
  readonly service: BotocoreShape;
  readonly paginators: BotocoreShape;
}

/**
 * Writes an API as the model from which botocore creates clients. Its signature version is the dialect's key seed in
 * lower case (`svc4`), for which a program registers a signer; in the public dialect it is `v4`.
 */
export const botocoreModel = (source: ExportSource): BotocoreModel => {
  const operations = operationsOf(source);
  const book = createShapeBook(source);
  const errors = source.errors.map(({ name }) => ({ shape: name }));
  const described = operations.map((operation) => [operation.desc.name, describeOperation(source, operation, book)]);
  for (const { name, status, members } of source.errors) {
    const texts = ["Message", ...members.filter((each) => each !== "Message")];
    book.add(name, {
      type: "structure",
      members: Object.fromEntries(texts.map((each) => [each, { shape: "ErrorText" }])),
      error: { httpStatusCode: status, senderFault: status < 500 },
      exception: true,
    });
  }
  book.add("ErrorText", { type: "string" });
  return {
    service: {
      version: "2.0",
      metadata: metadataOf(source),
      operations: Object.fromEntries(
        described.map(([name, operation]) => [name, { ...(operation as BotocoreShape), errors }]),
      ) as BotocoreShape,
      shapes: Object.fromEntries(Object.entries(book.shapes).toSorted(byName)),
      ...documentation(source.describe(source.service)),
    },
    paginators: { pagination: Object.fromEntries(operations.flatMap((each) => paginatorOf(source, each))) },
  };
};

const protocols: Readonly<Record<Protocol, string>> = {
  [Protocol.UNSPECIFIED]: "",
  [Protocol.REST_JSON]: "rest-json",
  [Protocol.TARGET_JSON]: "json",
  [Protocol.REST_XML]: "rest-xml",
  [Protocol.QUERY]: "query",
};

const metadataOf = (source: ExportSource): BotocoreShape => {
  const { api, spelling } = source;
  const { dialect } = spelling;
  const protocol = protocols[api.protocol];
  const title = titleOf(api.name);
  return {
    apiVersion: modelVersion,
    endpointPrefix: api.name,
    ...(api.protocol === Protocol.REST_XML ? {} : { jsonVersion: "1.1" }),
    ...(api.protocol === Protocol.TARGET_JSON ? { targetPrefix: targetPrefixOf(source) } : {}),
    protocol,
    protocols: [protocol],
    serviceFullName: title,
    serviceId: title,
    signatureVersion: dialect.name === "svc" ? dialect.signature.keySeed.toLowerCase() : "v4",
    signingName: dialect.signingNames[api.name]?.[0] ?? api.name,
    uid: `${api.name}-${modelVersion}`,
  };
};

const describeOperation = (source: ExportSource, operation: ExportedOperation, book: ShapeBook): BotocoreShape => {
  const { desc, contract, httpMethod, requestUri, status } = operation;
  const isXml = source.api.protocol === Protocol.REST_XML;
  const needsRoot = isXml && contract.input.payload === undefined && contract.input.bodyFields.length > 0;
  const root = messageContract(desc.input).xmlRoot ?? desc.input.name;
  return {
    name: desc.name,
    http: { method: httpMethod, requestUri, responseCode: status },
    input: {
      shape: book.message(desc.input, streamedMember(contract.input.payload)),
      ...(needsRoot ? { locationName: root, ...namespaceOf(source.spelling) } : {}),
    },
    output: { shape: book.message(desc.output, streamedMember(contract.output.payload)) },
    ...(desc.idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN ? {} : { idempotent: true }),
    ...documentation(source.describe(desc)),
  };
};

/** A body of raw bytes is a stream in clients. */
const streamedMember = (payload: FieldContract | undefined): FieldContract | undefined =>
  payload?.desc.message === undefined ? payload : undefined;

const paginatorOf = (source: ExportSource, { desc, contract }: ExportedOperation): [string, BotocoreShape][] => {
  const { pagination, input, output } = contract;
  if (pagination === undefined) return [];
  const named = (fields: readonly FieldContract[], name: string): string | undefined => {
    const field = fields.find((each) => each.desc.name === name);
    return field === undefined ? undefined : memberName(field, source.spelling);
  };
  const limitKey = named(input.fields, pagination.pageSize);
  const resultKey = named(output.fields, pagination.items);
  return [
    [
      desc.name,
      {
        input_token: named(input.fields, pagination.inputToken),
        output_token: named(output.fields, pagination.outputToken),
        ...(limitKey === undefined ? {} : { limit_key: limitKey }),
        ...(resultKey === undefined ? {} : { result_key: resultKey }),
      },
    ],
  ];
};

const byName = ([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number =>
  left < right ? -1 : 1;
