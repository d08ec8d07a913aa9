import type { DescField } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

import type { FieldContract, MessageContract, MethodContract, BindingLocation } from "./contract.ts";

/** The problems of the locations of a request's members. */
export const requestLocationProblems = (method: MethodContract): string[] => {
  const { input, http } = method;
  const locations = http === undefined ? targetLocations : requestLocations;
  const problems = fieldProblems(input, locations);
  if (http === undefined) return problems;

  const labelled = input.fields.filter((field) => field.location.kind === "label");
  for (const label of http.template.labels)
    if (!labelled.some((field) => field.wireName === label))
      problems.push(`names a label {${label}} that no field fills`);
  for (const field of labelled)
    if (!http.template.labels.includes(field.wireName))
      problems.push(`has a label field ${field.desc.name} that its path ${http.template.text} does not name`);
  if (input.payload === undefined && (http.method === "GET" || http.method === "HEAD"))
    for (const field of input.bodyFields)
      problems.push(`has no location for ${field.desc.name}: ${http.method} has no body`);
  if (streamsRequest(method) && !isBytes(input.payload?.desc))
    problems.push("streams its request without a payload of bytes");
  return problems;
};

/** The problems of the locations of a response's members. */
export const responseLocationProblems = (method: MethodContract): string[] => {
  const { output, http } = method;
  const problems = fieldProblems(output, http === undefined ? targetLocations : responseLocations);
  if (http === undefined) return problems;

  const isBodiless = http.method === "HEAD" || http.status === 204 || http.status === 304;
  if (isBodiless)
    for (const field of output.bodyFields)
      problems.push(`has no location for ${field.desc.name}: its response has no body`);
  if (streamsResponse(method) && !isBytes(output.payload?.desc))
    problems.push("streams its response without a payload of bytes");
  return problems;
};

const requestLocations: readonly BindingLocation["kind"][] = [
  "label",
  "header",
  "query",
  "prefixHeaders",
  "payload",
  "body",
  "rpcOnly",
];
const responseLocations: readonly BindingLocation["kind"][] = [
  "header",
  "prefixHeaders",
  "payload",
  "statusCode",
  "body",
  "rpcOnly",
];
const targetLocations: readonly BindingLocation["kind"][] = ["body", "rpcOnly"];

const streamsRequest = (method: MethodContract): boolean =>
  method.desc.methodKind === "client_streaming" || method.desc.methodKind === "bidi_streaming";

const streamsResponse = (method: MethodContract): boolean =>
  method.desc.methodKind === "server_streaming" || method.desc.methodKind === "bidi_streaming";

const fieldProblems = (message: MessageContract, allowed: readonly BindingLocation["kind"][]): string[] => {
  const problems: string[] = [];
  const taken = new Map<string, FieldContract>();
  const name = message.desc.name;
  for (const field of message.fields) {
    const own = `${name}.${field.desc.name}`;
    if (field.declaredLocations.length > 1)
      problems.push(
        `declares ${field.declaredLocations.length} locations for ${own}: ${field.declaredLocations.map(describeLocation).join(", ")}`,
      );
    else if (!allowed.includes(field.location.kind))
      problems.push(`has no location for ${own}: not in ${describeLocation(field.location)}`);
    else if (!canHold(field.location, field.desc))
      problems.push(`cannot hold ${own} in ${describeLocation(field.location)}`);
    if (field.location.kind === "body" && message.payload !== undefined)
      problems.push(`has no location for ${own}: the body is ${name}.${message.payload.desc.name} alone`);

    const claim = field.location.kind === "body" ? `member ${field.wireName}` : describeLocation(field.location);
    const other = taken.get(claim);
    if (other !== undefined && field.location.kind !== "rpcOnly" && field.location.kind !== "label")
      problems.push(`puts ${own} and ${name}.${other.desc.name} both in ${claim}`);
    taken.set(claim, field);
  }
  return problems;
};

const describeLocation = (location: BindingLocation): string => {
  if (location.kind === "header") return `header ${location.name}`;
  if (location.kind === "query") return `query ${location.name}`;
  if (location.kind === "prefixHeaders") return `headers ${location.prefix}*`;
  return location.kind;
};

const canHold = (location: BindingLocation, field: DescField): boolean => {
  switch (location.kind) {
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
