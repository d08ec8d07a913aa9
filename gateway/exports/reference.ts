import type { DescField, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import type { FieldConstraints, TextConstraints } from "../../services/kit/contract/constraints.ts";
import { methodPermissions } from "../../services/kit/contract/permissions.ts";
import { spelledValues } from "./botocore-shapes.ts";
import { examplesOf } from "./reference-examples.ts";
import type { ExportedOperation, ExportSource } from "./export-source.ts";
import { operationsOf, targetPrefixOf, titleOf, writtenName } from "./export-source.ts";

/** The page of one API: its operations with their members, limits, permissions and examples, its types, its errors. */
export const referencePage = (source: ExportSource): string => {
  const operations = operationsOf(source);
  const types = typesOf(operations.map(({ desc }) => desc));
  return [
    `# ${titleOf(source.api.name)}: operations`,
    "",
    "Made from the contract by `npm run reference`. Names are those of the public dialect, which SDKs and `aws` use; the",
    `documented ones are the same but for brand words. RPCs are those of \`${source.service.typeName}\`.`,
    "",
    ...operations.flatMap((operation) => operationSection(source, operation)),
    "## Types",
    "",
    ...types.flatMap((message) => typeSection(source, message)),
    "## Errors",
    "",
    "Any operation may refuse with those of them that fit; the gateway's own are among them.",
    "",
    ...table(
      ["code", "status", "says"],
      source.errors.map(({ name, status, messages }) => [
        code(name),
        String(status),
        [...new Set(messages)].join(" · "),
      ]),
    ),
    "",
  ].join("\n");
};

const operationSection = (source: ExportSource, operation: ExportedOperation): string[] => {
  const { desc, contract } = operation;
  const facts = [
    requestLine(source, operation),
    `Needs ${permissionsOf(desc).map(code).join(", ")}.`,
    ...(contract.pagination === undefined
      ? []
      : [`Answers in pages: \`${contract.pagination.inputToken}\` takes \`${contract.pagination.outputToken}\`.`]),
    ...(source.unoffered.has(desc.name) ? ["**Not offered**: answers `NotImplemented`, 501."] : []),
  ];
  return [
    `## ${desc.name}`,
    "",
    source.describe(desc) ?? "",
    "",
    ...facts.map((fact) => `- ${fact}`),
    "",
    ...members(source, "Request", contract.input.fields),
    ...members(source, "Response", contract.output.fields),
    ...(source.unoffered.has(desc.name) ? [] : ["```sh", ...examplesOf(source, operation), "```", ""]),
  ];
};

const requestLine = (source: ExportSource, { desc, contract, httpMethod }: ExportedOperation): string => {
  const { http } = contract;
  if (http === undefined)
    return `\`POST /\` with \`${source.spelling.dialect.targetHeader}: ${targetPrefixOf(source)}.${desc.name}\``;
  const headers = http.requiredHeaders.map((name) => ` with the header ${code(source.spelling.header(name))}`);
  const query = http.requiredQuery.map((name) => ` with the parameter ${code(name)}`);
  return `${code(`${httpMethod} ${http.template.text}`)}${[...headers, ...query].join("")}, status ${http.status}`;
};

const permissionsOf = (desc: DescMethod): string[] => {
  const names = methodPermissions(desc).permissions.map(({ action }) => action);
  return [...new Set(names)];
};

const members = (source: ExportSource, heading: string, fields: readonly FieldContract[]): string[] => {
  const shown = fields.filter(({ location }) => location.kind !== "rpcOnly");
  if (shown.length === 0) return [];
  return [
    ...table(
      [heading, "type", "where", "limits", "what"],
      shown.map((field) => [
        code(writtenName(field, source.spelling)),
        typeOf(source, field.desc),
        placeOf(source, field),
        limitsOf(field.constraints),
        source.describe(field.desc) ?? "",
      ]),
    ),
    "",
  ];
};

const typeSection = (source: ExportSource, message: DescMessage): string[] => [
  `### ${message.name}`,
  "",
  source.describe(message) ?? "",
  "",
  ...members(source, "Member", messageContract(message).fields),
];

const placeOf = ({ spelling }: ExportSource, { location }: FieldContract): string => {
  switch (location.kind) {
    case "label":
      return "path";
    case "query":
      return `query ${code(location.name)}`;
    case "header":
      return `header ${code(spelling.header(location.name))}`;
    case "prefixHeaders":
      return `headers ${code(`${spelling.header(location.prefix)}…`)}`;
    case "payload":
      return "the whole body";
    case "statusCode":
      return "status";
    default:
      return "body";
  }
};

/** The type of a field for people; messages lead to their sections. */
const typeOf = ({ spelling }: ExportSource, field: DescField): string => {
  switch (field.fieldKind) {
    case "list":
      return `list of ${elementType(field.listKind, field.scalar, field.message, field.enum?.name)}`;
    case "map":
      return `map to ${elementType(field.mapKind, field.scalar, field.message, field.enum?.name)}`;
    case "message":
      return messageType(field.message);
    case "enum":
      return `one of ${spelledValues(field.enum, spelling).map(code).join(", ")}`;
    default:
      return scalarTypes[field.scalar] ?? "text";
  }
};

const elementType = (
  kind: string,
  scalar: ScalarType | undefined,
  message: DescMessage | undefined,
  enumName: string | undefined,
): string => {
  if (kind === "message" && message !== undefined) return messageType(message);
  if (kind === "enum") return enumName ?? "text";
  return scalar === undefined ? "text" : (scalarTypes[scalar] ?? "text");
};

const messageType = (message: DescMessage): string => {
  const known = wellKnownTypes[message.typeName];
  return known ?? `[${message.name}](#${message.name.toLowerCase()})`;
};

const wellKnownTypes: Readonly<Record<string, string>> = {
  "google.protobuf.Timestamp": "time",
  "google.protobuf.Struct": "JSON object",
  "google.protobuf.Value": "JSON",
};

const scalarTypes: Readonly<Partial<Record<ScalarType, string>>> = {
  [ScalarType.BOOL]: "boolean",
  [ScalarType.BYTES]: "bytes",
  [ScalarType.DOUBLE]: "number",
  [ScalarType.FLOAT]: "number",
  [ScalarType.INT32]: "whole number",
  [ScalarType.INT64]: "whole number",
  [ScalarType.UINT32]: "whole number",
  [ScalarType.UINT64]: "whole number",
};

const limitsOf = (constraints: FieldConstraints): string =>
  [
    ...(constraints.isRequired ? ["required"] : []),
    ...textLimits(constraints),
    ...rangeLimit(constraints.rangeMin, constraints.rangeMax, ""),
    ...(constraints.hasUniqueItems ? ["no item twice"] : []),
    ...(constraints.element === undefined ? [] : textLimits(constraints.element).map((each) => `each ${each}`)),
    ...(constraints.key === undefined ? [] : textLimits(constraints.key).map((each) => `each key ${each}`)),
  ].join("; ");

const textLimits = ({ lengthMin, lengthMax, pattern, oneOf }: TextConstraints): string[] => [
  ...rangeLimit(lengthMin, lengthMax, " long"),
  ...(pattern === undefined ? [] : [`matches ${code(pattern)}`]),
  ...(oneOf.length === 0 ? [] : [`one of ${oneOf.map(code).join(", ")}`]),
];

const rangeLimit = (min: number | bigint | undefined, max: number | bigint | undefined, unit: string): string[] => {
  if (min === undefined && max === undefined) return [];
  if (max === undefined) return [`${min} or more${unit}`];
  return [min === undefined ? `up to ${max}${unit}` : `${min} to ${max}${unit}`];
};

/** The messages below requests and responses by name. */
const typesOf = (methods: readonly DescMethod[]): DescMessage[] => {
  const found = new Map<string, DescMessage>();
  const visit = (message: DescMessage): void => {
    for (const field of message.fields) {
      const nested = field.message;
      if (nested === undefined || wellKnownTypes[nested.typeName] !== undefined || found.has(nested.name)) continue;
      found.set(nested.name, nested);
      visit(nested);
    }
  };
  for (const { input, output } of methods) {
    visit(input);
    visit(output);
  }
  return [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
};

const code = (text: string): string => (text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``);

/** A table of Markdown. Bars in its cells would end them. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  [head, head.map(() => "---"), ...rows].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`,
  );
