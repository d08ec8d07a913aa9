import type { DescField } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { enumSpellings } from "../../services/kit/contract/spellings.ts";
import type { ExportedOperation, ExportSource } from "./export-source.ts";
import { writtenName } from "./export-source.ts";

/** What `aws` and boto3 call each API. */
const commands: Readonly<Record<string, { readonly aws: string; readonly boto3: string }>> = {
  "object-storage": { aws: "s3api", boto3: "s3" },
  "event-bus": { aws: "events", boto3: "events" },
  "customer-profile": { aws: "customer-profiles", boto3: "customer-profiles" },
  "refactoring-workspace": { aws: "migration-hub-refactor-spaces", boto3: "migration-hub-refactor-spaces" },
};

/** A call with its required members by `aws`, by boto3 and by grpcurl; what is between `<` and `>` is the reader's. */
export const examplesOf = (source: ExportSource, { desc, contract }: ExportedOperation): string[] => {
  const { api, service, spelling } = source;
  const named = commands[api.name];
  const members = contract.input.fields.filter(({ constraints, location }) => isNeeded(constraints, location));
  const streams = desc.methodKind !== "unary" && desc.methodKind !== "server_streaming";
  const flags = members.map((field) => ` --${dashed(writtenName(field, spelling), "-")} ${shellValue(field)}`);
  const keywords = members.map((field) => `${writtenName(field, spelling)}=${pythonValue(field.desc)}`);
  const document = Object.fromEntries(members.map((field) => [field.desc.jsonName, jsonValue(field.desc)]));
  return [
    ...(named === undefined ? [] : [`aws ${named.aws} ${dashed(desc.name, "-")}${flags.join("")}`]),
    ...(named === undefined
      ? []
      : [`python -c 'boto3.client("${named.boto3}").${dashed(desc.name, "_")}(${keywords.join(", ")})'`]),
    // A stream of requests needs a program.
    ...(streams
      ? []
      : [
          `grpcurl -plaintext -H "authorization: Bearer $TOKEN" -d '${JSON.stringify(document)}' ` +
            `127.0.0.1:8082 ${service.typeName}/${desc.name}`,
        ]),
  ];
};

const isNeeded = ({ isRequired }: FieldContract["constraints"], { kind }: FieldContract["location"]): boolean =>
  kind !== "rpcOnly" && (isRequired || kind === "label");

/** `PutObjectLegalHold` as `put-object-legal-hold`, as botocore spells it. */
const dashed = (name: string, dash: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, `$1${dash}$2`)
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, `$1${dash}$2`)
    .toLowerCase();

const shellValue = ({ desc }: FieldContract): string => {
  const value = jsonValue(desc);
  return typeof value === "string"
    ? value.replace(/^<.*>$/, (placeholder) => `'${placeholder}'`)
    : `'${JSON.stringify(value)}'`;
};

const pythonValue = (field: DescField): string => {
  const value = jsonValue(field);
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
};

/** A value of a member's type. */
const jsonValue = (field: DescField): unknown => {
  switch (field.fieldKind) {
    case "list":
      return [];
    case "map":
    case "message":
      return {};
    case "enum":
      return enumSpellings(field.enum).values[0]?.publicValue ?? "";
    default:
      return scalarValue(field);
  }
};

const scalarValue = ({ scalar, jsonName }: DescField): unknown => {
  if (scalar === ScalarType.BOOL) return true;
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return `<${jsonName}>`;
  return 1;
};
