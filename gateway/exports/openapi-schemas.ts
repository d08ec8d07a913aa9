import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import { TimestampFormat } from "../../gen/quartet/traits/v1/binding_pb.ts";
import type { FieldConstraints, TextConstraints } from "../../services/kit/contract/constraints.ts";
import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import { isInstant } from "../values/scalars.ts";
import { spelledValues } from "./botocore-shapes.ts";
import type { ExportSource } from "./export-source.ts";
import { writtenName } from "./export-source.ts";

/** A JSON Schema of the dialect that OpenAPI 3.1 uses. */
export type Schema = Record<string, unknown>;

/** The schemas of one document, by message name. */
export interface SchemaBook {
  /** A reference to the schema of a message's body members, which is added with those that it refers to. */
  message(desc: DescMessage): Schema;
  /** The schema of a member. */
  member(field: FieldContract): Schema;
  readonly schemas: Readonly<Record<string, Schema>>;
}

/** Creates an empty book for one API. */
export const createSchemaBook = (source: ExportSource): SchemaBook => {
  const schemas: Record<string, Schema> = {};
  const isXml = source.api.protocol === Protocol.REST_XML;
  const { spelling } = source;

  const message = (desc: DescMessage): Schema => {
    const name = nameOf(desc);
    if (schemas[name] === undefined) {
      const schema: Schema = { type: "object" };
      schemas[name] = schema;
      const { bodyFields } = messageContract(desc);
      const required = bodyFields.filter(({ constraints }) => constraints.isRequired);
      Object.assign(schema, {
        ...described(source.describe(desc)),
        properties: Object.fromEntries(bodyFields.map((field) => [writtenName(field, spelling), member(field)])),
        ...(required.length === 0 ? {} : { required: required.map((field) => writtenName(field, spelling)) }),
      });
    }
    return { $ref: `#/components/schemas/${name}` };
  };

  const member = (field: FieldContract): Schema => ({ ...value(field), ...described(source.describe(field.desc)) });

  const value = (field: FieldContract): Schema => {
    const { desc, constraints } = field;
    if (desc.fieldKind === "list" || desc.fieldKind === "map") return collection(field, constraints);
    if (desc.fieldKind !== "message" || isInstant(desc)) return { ...simple(field, constraints), ...xmlOf(field) };
    const { wrapped } = messageContract(desc.message);
    return wrapped === undefined ? message(desc.message) : collection(wrapped, constraints);
  };

  const collection = (field: FieldContract, outer: FieldConstraints): Schema => {
    const own = field.constraints;
    const bounds = own.lengthMin === undefined && own.lengthMax === undefined ? outer : own;
    const items = item(field);
    if (field.desc.fieldKind === "map")
      return {
        type: "object",
        additionalProperties: items,
        ...(own.key === undefined ? {} : { propertyNames: textSchema(own.key) }),
        ...bound("Properties", bounds),
      };
    const { isFlattened, memberName } = field.xml;
    const element = isXml && !isFlattened ? { ...items, xml: { name: memberName ?? "member" } } : items;
    return {
      type: "array",
      items: "$ref" in element && "xml" in element ? { allOf: [items], xml: element.xml } : element,
      ...(own.hasUniqueItems ? { uniqueItems: true } : {}),
      ...bound("Items", bounds),
      ...(isXml ? { xml: { wrapped: !isFlattened } } : {}),
    };
  };

  const item = (field: FieldContract): Schema => {
    const { desc } = field;
    if (desc.message === undefined || isInstant(desc)) return simple(field, field.constraints.element);
    const { wrapped } = messageContract(desc.message);
    return wrapped === undefined ? message(desc.message) : collection(wrapped, wrapped.constraints);
  };

  const simple = (field: FieldContract, constraints: TextConstraints | FieldConstraints | undefined): Schema => {
    const { desc } = field;
    if (isInstant(desc)) return instants[field.timestampFormat || defaultFormat(field, isXml)] ?? {};
    if (desc.enum !== undefined) return { type: "string", enum: spelledValues(desc.enum, spelling) };
    const type = scalarSchemas[desc.scalar ?? ScalarType.STRING];
    if (type !== undefined) return { ...type, ...ranges(constraints) };
    const isSecret = constraints !== undefined && "isSensitive" in constraints && constraints.isSensitive;
    return { ...textSchema(constraints), ...(isSecret ? { format: "password" } : {}) };
  };

  return { message, member, schemas };
};

export const described = (text: string | undefined): Schema => (text === undefined ? {} : { description: text });

const nameOf = (desc: DescMessage): string => (desc.parent === undefined ? desc.name : nameOf(desc.parent) + desc.name);

const xmlOf = ({ xml, wireName }: FieldContract): Schema => {
  if (!xml.isAttribute) return {};
  const [prefix, name] = wireName.split(":");
  const qualified = name === undefined ? { name: prefix } : { name, prefix, namespace: schemaInstances };
  return { xml: { attribute: true, ...qualified } };
};

const schemaInstances = "http://www.w3.org/2001/XMLSchema-instance";

const defaultFormat = ({ location }: FieldContract, isXml: boolean): TimestampFormat => {
  if (location.kind === "header") return TimestampFormat.HTTP_DATE;
  return isXml || location.kind === "query" ? TimestampFormat.DATE_TIME : TimestampFormat.EPOCH_SECONDS;
};

const instants: Readonly<Record<number, Schema>> = {
  [TimestampFormat.DATE_TIME]: { type: "string", format: "date-time" },
  [TimestampFormat.DATE_TIME_OF_SECOND]: { type: "string", format: "date-time" },
  [TimestampFormat.HTTP_DATE]: { type: "string", examples: ["Fri, 02 Jan 2026 03:04:05 GMT"] },
  [TimestampFormat.EPOCH_SECONDS]: { type: "number", examples: [1767323045.678] },
};

const scalarSchemas: Readonly<Partial<Record<ScalarType, Schema>>> = {
  [ScalarType.BYTES]: { type: "string", contentEncoding: "base64" },
  [ScalarType.BOOL]: { type: "boolean" },
  [ScalarType.DOUBLE]: { type: "number", format: "double" },
  [ScalarType.FLOAT]: { type: "number", format: "float" },
  [ScalarType.INT32]: { type: "integer", format: "int32" },
  [ScalarType.UINT32]: { type: "integer", format: "int32", minimum: 0 },
  [ScalarType.INT64]: { type: "integer", format: "int64" },
  [ScalarType.UINT64]: { type: "integer", format: "int64", minimum: 0 },
};

const textSchema = (constraints: TextConstraints | undefined): Schema => ({
  type: "string",
  ...(constraints?.lengthMin === undefined ? {} : { minLength: constraints.lengthMin }),
  ...(constraints?.lengthMax === undefined ? {} : { maxLength: constraints.lengthMax }),
  // The whole text must match, which a pattern of JSON Schema does not require.
  ...(constraints?.pattern === undefined ? {} : { pattern: `^(?:${constraints.pattern})$` }),
  ...(constraints === undefined || constraints.oneOf.length === 0 ? {} : { enum: constraints.oneOf }),
});

const bound = (what: "Items" | "Properties", constraints: TextConstraints): Schema => ({
  ...(constraints.lengthMin === undefined ? {} : { [`min${what}`]: constraints.lengthMin }),
  ...(constraints.lengthMax === undefined ? {} : { [`max${what}`]: constraints.lengthMax }),
});

const ranges = (constraints: TextConstraints | FieldConstraints | undefined): Schema => {
  if (constraints === undefined || !("rangeMin" in constraints)) return {};
  return {
    ...(constraints.rangeMin === undefined ? {} : { minimum: Number(constraints.rangeMin) }),
    ...(constraints.rangeMax === undefined ? {} : { maximum: Number(constraints.rangeMax) }),
  };
};

/** Whether a member is raw bytes or text as a whole body. */
export const isRaw = (desc: DescField): boolean => desc.fieldKind === "scalar";
