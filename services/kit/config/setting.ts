import * as z from "zod";

import { parseJson } from "../json/parse-json.ts";
import { parseNetwork } from "../network/networks.ts";

/**
 * The settings of a process by name. Each is a schema with a default and a description of one sentence; with
 * `writeOnly` in its metadata its value is hidden when the configuration is printed.
 */
export type SettingsTable = Readonly<Record<string, z.ZodType>>;
export type SettingsOf<Table extends SettingsTable> = { readonly [Name in keyof Table]: z.output<Table[Name]> };

/** A host and a TCP port; port 0 asks the system for a free one. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export const text = (fallback: string, description: string) => z.string().default(fallback).describe(description);

/** A text that is never printed, and has no flag because arguments are public; empty unless it is set. */
export const secret = (description: string) => z.string().default("").meta({ description, writeOnly: true });

/** True for a setting that `secret` declares. */
export const isSecret = (setting: z.ZodType): boolean => setting.meta()?.["writeOnly"] === true;

export const integer = (fallback: number, description: string, min: number, max: number) =>
  z.int(`must be a whole number from ${min} to ${max}`).min(min).max(max).default(fallback).describe(description);

/** One of some texts; the first unless it is set. */
export const choice = <const Choices extends readonly [string, ...string[]]>(choices: Choices, description: string) =>
  z.enum(choices).default(choices[0]).describe(description);

/** Host and port as one text: `127.0.0.1:8080`, `[::1]:8080`. */
export const address = (fallback: string, description: string) =>
  z
    .string()
    .transform((given, context): Address => {
      const match = /^(\[[0-9a-fA-F:]+\]|[^:]+):(\d{1,5})$/.exec(given);
      const port = Number(match?.[2]);
      if (match?.[1] !== undefined && port <= 65_535) return { host: match[1].replace(/^\[|\]$/g, ""), port };
      context.addIssue("must be host:port, for example 127.0.0.1:8080");
      return z.NEVER;
    })
    .prefault(fallback)
    .describe(description);

/** A list of texts, which a flag or a variable separates by commas. */
export const list = (fallback: readonly string[], description: string) =>
  z
    .array(z.string())
    .default([...fallback])
    .describe(description);

/** Addresses and networks, which a flag or a variable separates by commas. */
export const networks = (description: string) =>
  z
    .array(
      z
        .string()
        .refine(
          (given) => parseNetwork(given) !== undefined,
          "must be an address or a network, for example 10.0.0.0/8",
        ),
    )
    .default([])
    .describe(description);

const endpoint = z
  .strictObject({
    url: z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).describe("Its base address."),
    region: z
      .string()
      .min(1)
      .optional()
      .describe("The region that signatures name. Left out: that of its name, or the installation's."),
    accessKeyId: z.string().default("").describe("The access key id of signatures. Left out: requests are unsigned."),
    secretAccessKey: z.string().default("").describe("The secret of that access key."),
  })
  .describe("Where a service is reached.");

/** A service outside the installation as a setting says it. */
export type EndpointSetting = z.output<typeof endpoint>;

/** Services outside the installation by their names; with secrets, so never printed and no flag. */
export const endpoints = <const Names extends readonly [string, ...string[]]>(names: Names, description: string) =>
  z.partialRecord(z.enum(names), endpoint).default({}).meta({ description, writeOnly: true });

/** A table of values by name. */
const named = <Value extends z.ZodType>(name: RegExp, value: Value) =>
  z.record(z.string().regex(name), value, {
    error: ({ code }) => (code === "invalid_key" ? `must be named by ${name.source}` : undefined),
  });

/** Endpoints by names of a shape. */
export const endpointsNamed = (name: RegExp, description: string) =>
  named(name, endpoint).default({}).meta({ description, writeOnly: true });

/** The same, of which some need no key: a text is the address alone. */
export const placesNamed = (name: RegExp, description: string) =>
  named(
    name,
    z.union([endpoint, endpoint.shape.url.transform((url) => ({ url, accessKeyId: "", secretAccessKey: "" }))]),
  )
    .default({})
    .meta({ description, writeOnly: true });

/** Texts by name, both of a shape. */
export const texts = (name: RegExp, value: RegExp, description: string) =>
  named(name, z.string().regex(value, `must match ${value.source}`))
    .default({})
    .describe(description);

/** Objects of a shape by name. */
export const objectsNamed = <Shape extends z.ZodRawShape>(name: RegExp, shape: Shape, description: string) =>
  named(name, z.strictObject(shape)).default({}).describe(description);

/** Host and port as one text, the form that `address` reads. */
export const formatAddress = (value: Address): string =>
  value.host.includes(":") ? `[${value.host}]:${value.port}` : `${value.host}:${value.port}`;

/** A setting's value as one text, as `--help` and `--print-config` show it. */
export const formatValue = (value: unknown): string => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return String(value);
  if ("port" in value) return formatAddress(value as Address);
  return Object.keys(value).length === 0 ? "" : JSON.stringify(value);
};

/** The object that a text spells in JSON; another text is returned as it is, and refused by the schema. */
const objectOfText = (given: string): unknown => {
  try {
    return parseJson(given);
  } catch {
    return given;
  }
};

/** The value in the file that means the same as the text of a flag or a variable. */
export const valueOfText = (setting: z.ZodType, given: string): unknown => {
  const { type } = z.toJSONSchema(setting, { io: "input" });
  if (type === "object") return objectOfText(given);
  if (type === "integer") return /^-?\d+$/.test(given) ? Number(given) : given;
  if (type !== "array") return given;
  return given
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
};
