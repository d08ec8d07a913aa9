import { ConfigError } from "./config-error.ts";
import type { JsonSchema } from "./shape.ts";

/** One value that an installation may set. */
export interface Setting<T> {
  readonly fallback: T;
  /** One sentence for `--help`: what it does and its unit. */
  readonly describe: string;
  /** Hidden when the configuration is printed. */
  readonly isSecret: boolean;
  /** Throws an Error that says what is accepted. */
  readonly parse: (text: string) => T;
  /** What the configuration file may hold. */
  readonly schema: JsonSchema;
}

export type SettingsTable = Readonly<Record<string, Setting<unknown>>>;
export type SettingsOf<Table extends SettingsTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Setting<infer T> ? T : never;
};

/** A host and a TCP port; port 0 asks the system for a free one. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

const anyText: JsonSchema = { type: "string" };

const setting = <T>(
  fallback: T,
  describe: string,
  parse: (text: string) => T,
  schema: JsonSchema,
  isSecret = false,
): Setting<T> => ({ fallback, describe, isSecret, parse, schema });

export const text = (fallback: string, describe: string): Setting<string> =>
  setting(fallback, describe, (given) => given, anyText);

/** A text that is never printed. */
export const secret = (describe: string): Setting<string> => setting("", describe, (given) => given, anyText, true);

export const integer = (fallback: number, describe: string, min: number, max: number): Setting<number> =>
  setting(
    fallback,
    describe,
    (given) => {
      const value = Number(given);
      if (!/^-?\d+$/.test(given) || value < min || value > max)
        throw new Error(`a whole number from ${min} to ${max} is expected`);
      return value;
    },
    { type: "integer", minimum: min, maximum: max },
  );

export const choice = <const Words extends readonly [string, ...string[]]>(
  words: Words,
  describe: string,
): Setting<Words[number]> =>
  setting<Words[number]>(
    words[0],
    describe,
    (given) => {
      const found = words.find((word) => word === given);
      if (found === undefined) throw new Error(`one of ${words.join(", ")} is expected`);
      return found;
    },
    { type: "string", enum: words },
  );

export const address = (fallback: string, describe: string): Setting<Address> =>
  setting(parseAddress(fallback), describe, parseAddress, anyText);

/** A list of words separated by commas; in the file a list of texts. */
export const words = (fallback: readonly string[], describe: string): Setting<readonly string[]> =>
  setting(
    fallback,
    describe,
    (given) =>
      given
        .split(",")
        .map((word) => word.trim())
        .filter((word) => word !== ""),
    { type: "array", items: anyText },
  );

const parseAddress = (given: string): Address => {
  const match = /^(\[[0-9a-fA-F:]+\]|[^:]+):(\d{1,5})$/.exec(given);
  const port = Number(match?.[2]);
  if (match?.[1] === undefined || port > 65_535) throw new Error("host:port is expected, for example 127.0.0.1:8080");
  return { host: match[1].replace(/^\[|\]$/g, ""), port };
};

/** Host and port as one text, the form that `address` reads. */
export const formatAddress = (value: Address): string =>
  value.host.includes(":") ? `[${value.host}]:${value.port}` : `${value.host}:${value.port}`;

/** A setting's value as one text, as `--help`, `--print-config` and the schema show it. */
export const formatValue = (value: unknown): string =>
  typeof value === "object" && value !== null && "port" in value ? formatAddress(value as Address) : String(value);

/** The text for `parse` of what stands in the file. Throws ConfigError for a value of another JSON type. */
export const textInFile = (declared: Setting<unknown>, value: unknown, path: string): string => {
  const { type } = declared.schema;
  if (type === "integer" && typeof value === "number") return String(value);
  if (type === "array" && Array.isArray(value) && value.every((each) => typeof each === "string"))
    return value.join(",");
  if (type === "string" && typeof value === "string") return value;
  const expected = type === "integer" ? "a whole number" : type === "array" ? "a list of strings" : "a string";
  throw new ConfigError(`${path} must be ${expected}`);
};
