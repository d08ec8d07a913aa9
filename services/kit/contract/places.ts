import type { DescField } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

import type { FieldContract, MessageContract, MethodContract, Place } from "./contract.ts";

/** What is wrong with the places of a request's members; empty: nothing. */
export const requestPlaceProblems = (method: MethodContract): string[] => {
  const { input, http } = method;
  const places = http === undefined ? targetPlaces : requestPlaces;
  const problems = fieldProblems(input, places);
  if (http === undefined) return problems;

  const labelled = input.fields.filter((field) => field.place.kind === "label");
  for (const label of http.template.labels)
    if (!labelled.some((field) => field.wireName === label))
      problems.push(`names a label {${label}} that no field fills`);
  for (const field of labelled)
    if (!http.template.labels.includes(field.wireName))
      problems.push(`has a label field ${field.desc.name} that its path ${http.template.text} does not name`);
  if (input.payload === undefined && (http.method === "GET" || http.method === "HEAD"))
    for (const field of input.bodyFields)
      problems.push(`has no place for ${field.desc.name}: ${http.method} has no body`);
  if (streamsRequest(method) && !isBytes(input.payload?.desc))
    problems.push("streams its request without a payload of bytes");
  return problems;
};

/** What is wrong with the places of a response's members; empty: nothing. */
export const responsePlaceProblems = (method: MethodContract): string[] => {
  const { output, http } = method;
  const problems = fieldProblems(output, http === undefined ? targetPlaces : responsePlaces);
  if (http === undefined) return problems;

  const isBodiless = http.method === "HEAD" || http.status === 204 || http.status === 304;
  if (isBodiless)
    for (const field of output.bodyFields)
      problems.push(`has no place for ${field.desc.name}: its response has no body`);
  if (streamsResponse(method) && !isBytes(output.payload?.desc))
    problems.push("streams its response without a payload of bytes");
  return problems;
};

const requestPlaces: readonly Place["kind"][] = [
  "label",
  "header",
  "query",
  "prefixHeaders",
  "payload",
  "body",
  "rpcOnly",
];
const responsePlaces: readonly Place["kind"][] = [
  "header",
  "prefixHeaders",
  "payload",
  "statusCode",
  "body",
  "rpcOnly",
];
const targetPlaces: readonly Place["kind"][] = ["body", "rpcOnly"];

const streamsRequest = (method: MethodContract): boolean =>
  method.desc.methodKind === "client_streaming" || method.desc.methodKind === "bidi_streaming";

const streamsResponse = (method: MethodContract): boolean =>
  method.desc.methodKind === "server_streaming" || method.desc.methodKind === "bidi_streaming";

const fieldProblems = (message: MessageContract, allowed: readonly Place["kind"][]): string[] => {
  const problems: string[] = [];
  const taken = new Map<string, FieldContract>();
  const name = message.desc.name;
  for (const field of message.fields) {
    const own = `${name}.${field.desc.name}`;
    if (field.declaredPlaces.length > 1)
      problems.push(
        `gives ${own} ${field.declaredPlaces.length} places: ${field.declaredPlaces.map(placeWords).join(", ")}`,
      );
    else if (!allowed.includes(field.place.kind))
      problems.push(`has no place for ${own}: not in ${placeWords(field.place)}`);
    else if (!canHold(field.place, field.desc)) problems.push(`cannot hold ${own} in ${placeWords(field.place)}`);
    if (field.place.kind === "body" && message.payload !== undefined)
      problems.push(`has no place for ${own}: the body is ${name}.${message.payload.desc.name} alone`);

    const claim = field.place.kind === "body" ? `member ${field.wireName}` : placeWords(field.place);
    const other = taken.get(claim);
    if (other !== undefined && field.place.kind !== "rpcOnly" && field.place.kind !== "label")
      problems.push(`puts ${own} and ${name}.${other.desc.name} both in ${claim}`);
    taken.set(claim, field);
  }
  return problems;
};

const placeWords = (place: Place): string => {
  if (place.kind === "header") return `header ${place.name}`;
  if (place.kind === "query") return `query ${place.name}`;
  if (place.kind === "prefixHeaders") return `headers ${place.prefix}*`;
  return place.kind;
};

const canHold = (place: Place, field: DescField): boolean => {
  switch (place.kind) {
    case "label":
      return isSimple(field) && !isBytes(field);
    case "header":
      return isSimple(field) || isSimpleList(field);
    case "query":
      return isSimple(field) || isSimpleList(field) || isTextMap(field);
    case "prefixHeaders":
      return isTextMap(field);
    case "payload":
      return field.fieldKind === "message" || isBytes(field) || isText(field);
    case "statusCode":
      return field.fieldKind === "scalar" && field.scalar === ScalarType.INT32;
    case "body":
    case "rpcOnly":
      return true;
  }
};

const isSimple = (field: DescField): boolean =>
  field.fieldKind === "scalar" ||
  field.fieldKind === "enum" ||
  (field.fieldKind === "message" && field.message.typeName === "google.protobuf.Timestamp");

const isSimpleList = (field: DescField): boolean =>
  field.fieldKind === "list" && (field.listKind === "scalar" || field.listKind === "enum");

const isTextMap = (field: DescField): boolean =>
  field.fieldKind === "map" && field.mapKind === "scalar" && field.scalar === ScalarType.STRING;

const isText = (field: DescField): boolean => field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;

const isBytes = (field: DescField | undefined): boolean =>
  field?.fieldKind === "scalar" && field.scalar === ScalarType.BYTES;
