import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

import { TimestampFormat } from "../../gen/quartet/traits/v1/binding_pb.ts";
import type { FieldConstraints, TextConstraints } from "../../services/kit/contract/constraints.ts";
import type { FieldContract, MessageContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import { enumSpellings, pascalCase } from "../../services/kit/contract/spellings.ts";
import { isInstant } from "../values/scalars.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import type { ExportSource } from "./export-source.ts";
import { memberName, writtenName } from "./export-source.ts";

/** A shape of a botocore model, or a reference to one with the attributes of the referring member. */
export type BotocoreShape = Record<string, unknown>;

/** The shapes of one model. A message is a shape of its own name; equal values share a shape. */
export interface ShapeBook {
  /** Adds the shape of a message and the shapes that it refers to, and returns its name. */
  message(desc: DescMessage, streamed?: FieldContract): string;
  add(name: string, shape: BotocoreShape): void;
  readonly shapes: Readonly<Record<string, BotocoreShape>>;
}

/** Creates an empty book for one API. */
export const createShapeBook = (source: ExportSource): ShapeBook => {
  const { spelling } = source;
  const shapes: Record<string, BotocoreShape> = {};
  const contents = new Map<string, string>();

  /** Names a value's shape after its member. An equal shape is reused; a different one is prefixed with its message. */
  const intern = (name: string, owner: string, shape: BotocoreShape): string => {
    const content = JSON.stringify(shape);
    const known = contents.get(`${name} ${content}`);
    if (known !== undefined) return known;
    const free = [name, owner + name, `${owner}${name}Value`].find((each) => shapes[each] === undefined);
    if (free === undefined) throw new Error(`no name is left for ${owner}.${name}`);
    shapes[free] = shape;
    contents.set(`${name} ${content}`, free);
    return free;
  };

  const message = (desc: DescMessage, streamed?: FieldContract): string => {
    const name = nameOf(desc);
    if (shapes[name] !== undefined) return name;
    const shape: BotocoreShape = { type: "structure" };
    shapes[name] = shape;
    const contract = messageContract(desc);
    Object.assign(shape, structure(contract, streamed));
    return name;
  };

  const structure = (contract: MessageContract, streamed: FieldContract | undefined): BotocoreShape => {
    const fields = contract.fields.filter(({ location }) => location.kind !== "rpcOnly");
    const members = fields.map((field) => [
      memberName(field, spelling),
      member(field, contract.desc, field === streamed),
    ]);
    const required = fields.filter(({ constraints }) => constraints.isRequired);
    return {
      ...(required.length === 0 ? {} : { required: required.map((field) => memberName(field, spelling)) }),
      members: Object.fromEntries(members) as BotocoreShape,
      ...(contract.payload === undefined ? {} : { payload: memberName(contract.payload, spelling) }),
      ...documentation(source.describe(contract.desc)),
    };
  };

  const member = (field: FieldContract, owner: DescMessage, isStreamed: boolean): BotocoreShape => ({
    shape: valueName(field, owner),
    ...locationOf(field, spelling),
    ...(isStreamed ? { streaming: true } : {}),
    ...(field.constraints.isIdempotencyToken ? { idempotencyToken: true } : {}),
    ...(field.isMediaTypeJson ? { jsonvalue: true } : {}),
    ...(isInstant(field.desc) && field.timestampFormat !== TimestampFormat.UNSPECIFIED
      ? { timestampFormat: timestampFormats[field.timestampFormat] }
      : {}),
    ...documentation(source.describe(field.desc)),
  });

  const valueName = (field: FieldContract, owner: DescMessage): string => {
    const { desc } = field;
    const name = pascalCase(desc.name);
    if (desc.fieldKind === "list" || desc.fieldKind === "map") return collection(field, field.constraints, owner);
    if (desc.fieldKind !== "message" || isInstant(desc))
      return intern(name, owner.name, simple(desc, field.constraints, spelling));
    const { wrapped } = messageContract(desc.message);
    return wrapped === undefined ? message(desc.message) : collection(wrapped, field.constraints, owner, name);
  };

  const collection = (
    field: FieldContract,
    outer: FieldConstraints,
    owner: DescMessage,
    name = pascalCase(field.desc.name),
  ): string => {
    const bounds =
      field.constraints.lengthMin === undefined && field.constraints.lengthMax === undefined
        ? outer
        : field.constraints;
    const item = { shape: itemName(field, owner, name) };
    if (field.desc.fieldKind === "map") {
      const key = intern(`${name}Key`, owner.name, textShape(field.constraints.key));
      return intern(`${name}Map`, owner.name, { type: "map", key: { shape: key }, value: item, ...lengths(bounds) });
    }
    const element = field.xml.memberName === undefined ? {} : { locationName: field.xml.memberName };
    const flattened = field.xml.isFlattened ? { flattened: true } : {};
    const shape = {
      type: "list",
      member: { ...item, ...(field.xml.isFlattened ? {} : element) },
      ...flattened,
      ...lengths(bounds),
    };
    return intern(`${name}List`, owner.name, shape);
  };

  const itemName = (field: FieldContract, owner: DescMessage, name: string): string => {
    const { desc } = field;
    if (desc.message === undefined || isInstant(desc))
      return intern(`${name}Item`, owner.name, simple(desc, field.constraints.element, spelling));
    const { wrapped } = messageContract(desc.message);
    return wrapped === undefined ? message(desc.message) : collection(wrapped, wrapped.constraints, desc.message);
  };

  return { message, shapes, add: (name, shape) => void (shapes[name] = shape) };
};

/** A message's name without its package; that of a nested message begins with those of its parents. */
const nameOf = (desc: DescMessage): string => (desc.parent === undefined ? desc.name : nameOf(desc.parent) + desc.name);

export const documentation = (text: string | undefined): BotocoreShape =>
  text === undefined ? {} : { documentation: text };

const locationOf = (field: FieldContract, spelling: DialectSpelling): BotocoreShape => {
  const { location } = field;
  if (location.kind === "label") return { location: "uri", locationName: field.wireName };
  if (location.kind === "header") return { location: "header", locationName: spelling.header(location.name) };
  if (location.kind === "prefixHeaders") return { location: "headers", locationName: spelling.header(location.prefix) };
  if (location.kind === "query") return { location: "querystring", locationName: location.name };
  if (location.kind === "statusCode") return { location: "statusCode" };
  if (location.kind === "payload") return field.desc.message === undefined ? {} : payloadRoot(field, spelling);
  return bodyLocation(field, spelling);
};

const payloadRoot = (field: FieldContract, spelling: DialectSpelling): BotocoreShape => {
  const root = messageContract(field.desc.message!).xmlRoot ?? field.wireName;
  return { locationName: root, ...namespaceOf(spelling) };
};

/** The namespace of documents, if the dialect has one. */
export const namespaceOf = ({ dialect }: DialectSpelling): BotocoreShape =>
  dialect.xmlNamespace === undefined ? {} : { xmlNamespace: { uri: dialect.xmlNamespace } };

const bodyLocation = (field: FieldContract, spelling: DialectSpelling): BotocoreShape => {
  const written = writtenName(field, spelling);
  const attribute = field.xml.isAttribute ? { xmlAttribute: true } : {};
  return written === memberName(field, spelling) ? attribute : { locationName: written, ...attribute };
};

const timestampFormats: Readonly<Record<number, string>> = {
  [TimestampFormat.DATE_TIME]: "iso8601",
  [TimestampFormat.DATE_TIME_OF_SECOND]: "iso8601",
  [TimestampFormat.HTTP_DATE]: "rfc822",
  [TimestampFormat.EPOCH_SECONDS]: "unixTimestamp",
};

/** A value that is not a message, list or map. Enums may grow, so they are strings with known values in clients. */
const simple = (
  desc: DescField,
  constraints: TextConstraints | undefined,
  spelling: DialectSpelling,
): BotocoreShape => {
  if (isInstant(desc)) return { type: "timestamp" };
  if (desc.enum !== undefined) return { type: "string", enum: spelledValues(desc.enum, spelling) };
  const type = scalarTypes[desc.scalar ?? ScalarType.STRING];
  if (type === undefined || type === "string") return { ...textShape(constraints), ...sensitivity(constraints) };
  return { type, ...ranges(constraints), ...sensitivity(constraints) };
};

/** The values of an enum as a dialect spells them. */
export const spelledValues = (desc: DescEnum, spelling: DialectSpelling): string[] =>
  enumSpellings(desc).values.map(({ wireValue, publicValue }) =>
    spelling.value(spelling.dialect.writesPublicNames ? publicValue : wireValue),
  );

const textShape = (constraints: TextConstraints | undefined): BotocoreShape => ({
  type: "string",
  ...lengths(constraints),
  ...(constraints?.pattern === undefined ? {} : { pattern: constraints.pattern }),
  ...(constraints === undefined || constraints.oneOf.length === 0 ? {} : { enum: constraints.oneOf }),
});

const lengths = (constraints: TextConstraints | undefined): BotocoreShape => ({
  ...(constraints?.lengthMin === undefined ? {} : { min: constraints.lengthMin }),
  ...(constraints?.lengthMax === undefined ? {} : { max: constraints.lengthMax }),
});

const ranges = (constraints: TextConstraints | undefined): BotocoreShape => {
  if (constraints === undefined || !("rangeMin" in constraints)) return {};
  const { rangeMin, rangeMax } = constraints as FieldConstraints;
  return {
    ...(rangeMin === undefined ? {} : { min: Number(rangeMin) }),
    ...(rangeMax === undefined ? {} : { max: Number(rangeMax) }),
  };
};

const sensitivity = (constraints: TextConstraints | undefined): BotocoreShape =>
  constraints !== undefined && "isSensitive" in constraints && (constraints as FieldConstraints).isSensitive
    ? { sensitive: true }
    : {};

const scalarTypes: Readonly<Partial<Record<ScalarType, string>>> = {
  [ScalarType.STRING]: "string",
  [ScalarType.BYTES]: "blob",
  [ScalarType.BOOL]: "boolean",
  [ScalarType.DOUBLE]: "double",
  [ScalarType.FLOAT]: "float",
  [ScalarType.INT32]: "integer",
  [ScalarType.UINT32]: "integer",
  [ScalarType.SINT32]: "integer",
  [ScalarType.INT64]: "long",
  [ScalarType.UINT64]: "long",
  [ScalarType.SINT64]: "long",
};
