import { ConfigError } from "./config-error.ts";

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a value of the configuration file must look like: checked by `read`, told to editors by `schema`. */
export interface Shape<T> {
  readonly schema: JsonSchema;
  /** The value as its type. `path` is where it stands. Throws ConfigError, which quotes no value. */
  read(value: unknown, path: string): T;
}

/** What a shape reads. */
export type ShapeOf<S> = S extends Shape<infer T> ? T : never;

type Members = Readonly<Record<string, Shape<unknown>>>;
type Whole<M extends Members> = { readonly [Name in keyof M]: ShapeOf<M[Name]> };

/** Where a member stands: `accounts["111122223333"].users`. */
export const memberPath = (path: string, name: string): string => {
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
};

/** True for what JSON calls an object. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const asObject = (value: unknown, path: string): Readonly<Record<string, unknown>> => {
  if (!isObject(value)) throw new ConfigError(`${path} must be an object`);
  return value;
};

/** A text; `expected` ends the sentence "… must have" when it does not fit the pattern. */
export const textShape = (description: string, pattern: RegExp, expected: string): Shape<string> => ({
  schema: { type: "string", pattern: pattern.source, description },
  read: (value, path) => {
    if (typeof value !== "string") throw new ConfigError(`${path} must be a string`);
    if (!pattern.test(value)) throw new ConfigError(`${path} must have ${expected}`);
    return value;
  },
});

/** One of some texts. */
export const choiceShape = <const T extends string>(description: string, choices: readonly T[]): Shape<T> => ({
  schema: { type: "string", enum: choices, description },
  read: (value, path) => {
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw new ConfigError(`${path} must be one of ${choices.join(", ")}`);
    return found;
  },
});

/** A list whose items all have one shape. */
export const listShape = <T>(description: string, item: Shape<T>): Shape<readonly T[]> => ({
  schema: { type: "array", items: item.schema, description },
  read: (value, path) => {
    if (!Array.isArray(value)) throw new ConfigError(`${path} must be a list`);
    return value.map((each: unknown, index) => item.read(each, `${path}[${index}]`));
  },
});

/** An object with free names that fit a pattern, each with a value of one shape; read in the order of the file. */
export const mapShape = <T>(
  description: string,
  names: RegExp,
  expected: string,
  item: Shape<T>,
): Shape<ReadonlyMap<string, T>> => ({
  schema: {
    type: "object",
    propertyNames: { pattern: names.source },
    additionalProperties: item.schema,
    description,
  },
  read: (value, path) =>
    new Map(
      Object.entries(asObject(value, path)).map(([name, each]) => {
        const place = memberPath(path, name);
        if (!names.test(name)) throw new ConfigError(`${place} must be named with ${expected}`);
        return [name, item.read(each, place)] as const;
      }),
    ),
});

/** An object with declared members and no others. */
export const objectShape = <Required extends Members, Optional extends Members>(
  description: string,
  required: Required,
  optional: Optional,
): Shape<Whole<Required> & Partial<Whole<Optional>>> => {
  const members: Members = { ...required, ...optional };
  const schemas = Object.entries(members).map(([name, shape]) => [name, shape.schema] as const);
  return {
    schema: {
      type: "object",
      properties: Object.fromEntries(schemas),
      ...(Object.keys(required).length === 0 ? {} : { required: Object.keys(required) }),
      additionalProperties: false,
      description,
    },
    read: (value, path) => {
      const given = asObject(value, path);
      for (const name of Object.keys(given))
        if (!Object.hasOwn(members, name))
          throw new ConfigError(`${memberPath(path, name)} is not known; known are ${Object.keys(members).join(", ")}`);
      for (const name of Object.keys(required))
        if (!Object.hasOwn(given, name)) throw new ConfigError(`${memberPath(path, name)} is missing`);
      const read = Object.entries(members)
        .filter(([name]) => Object.hasOwn(given, name))
        .map(([name, shape]) => [name, shape.read(given[name], memberPath(path, name))] as const);
      return Object.fromEntries(read) as Whole<Required> & Partial<Whole<Optional>>;
    },
  };
};

/** An object with exactly one of the members. */
export const oneOfShape = <M extends Members>(description: string, members: M): Shape<Partial<Whole<M>>> => {
  const any = objectShape(description, {}, members);
  return {
    schema: { ...any.schema, minProperties: 1, maxProperties: 1 },
    read: (value, path) => {
      const read = any.read(value, path);
      if (Object.keys(read).length !== 1)
        throw new ConfigError(`${path} must have exactly one of ${Object.keys(members).join(", ")}`);
      return read;
    },
  };
};

/** A text of one shape or an object of another. */
export const textOrObjectShape = <T, O>(description: string, ofText: Shape<T>, ofObject: Shape<O>): Shape<T | O> => ({
  schema: { anyOf: [ofText.schema, ofObject.schema], description },
  read: (value, path) => {
    if (typeof value === "string") return ofText.read(value, path);
    if (isObject(value)) return ofObject.read(value, path);
    throw new ConfigError(`${path} must be a string or an object`);
  },
});

/** A whole JSON object that somebody else checks. */
export const documentShape = (description: string): Shape<Readonly<Record<string, unknown>>> => ({
  schema: { type: "object", description },
  read: asObject,
});
