import { basename, resolve } from "node:path";

import * as z from "zod";

import { ConfigError } from "./config-error.ts";
import { readValue } from "./read-value.ts";
import type { SettingsTable } from "./setting.ts";
import { readTextFile } from "./text-file.ts";

/** The possible content of an installation's configuration file. */
export interface Installation {
  /** Settings that every process shares. */
  readonly shared: SettingsTable;
  /** Each process's own settings, by its name. */
  readonly processes: Readonly<Record<string, SettingsTable>>;
  /** Declarations next to the settings, by the name of their section. */
  readonly sections?: Readonly<Record<string, z.ZodType>>;
}

/** The path of the configuration file. */
export interface ConfigFilePath {
  readonly path: string;
  /** True if `--config` named it: then the file must exist. */
  readonly isNamed: boolean;
}

/** The content of a checked configuration file, by its topmost names. */
export type ConfigFile = Readonly<Record<string, unknown>>;

/** The file that `--config` names, or `quartet.json`; relative to the directory. */
export const configFilePath = (named: string | undefined, directory: string): ConfigFilePath => ({
  path: resolve(directory, named ?? "quartet.json"),
  isNamed: named !== undefined,
});

/** `camelCase` from `kebab-case`: the name of a process's section. */
export const sectionName = (name: string): string =>
  name.replace(/-([a-z])/g, (_dash, letter: string) => letter.toUpperCase());

/** The schema of the whole file: every name must be known, and every value valid, also those of other processes. */
const fileSchema = ({ shared, processes, sections = {} }: Installation) =>
  z.strictObject({
    $schema: z.string().describe("The schema that an editor checks this file by.").optional(),
    ...shared,
    ...Object.fromEntries(
      Object.entries(processes).map(([name, own]) => [
        sectionName(name),
        z.strictObject(own).describe(`Settings of ${name}.`).optional(),
      ]),
    ),
    ...Object.fromEntries(Object.entries(sections).map(([name, section]) => [name, section.optional()])),
  });

/** The JSON Schema of an installation's configuration file. */
export const configSchema = (installation: Installation, title: string): object =>
  z.toJSONSchema(fileSchema(installation).meta({ title }), { io: "input" });

/**
 * Reads and checks a whole configuration file and returns it as it was written, without defaults; an empty object for
 * an absent file that was not named. `readText` returns undefined for an absent file. Throws ConfigError.
 */
export const readConfigFile = (
  installation: Installation,
  file: ConfigFilePath,
  readText: (path: string) => string | undefined = readTextFile,
): ConfigFile => {
  const content = contentOf(file, readText);
  if (content === undefined) return {};
  const name = basename(file.path);
  try {
    const parsed = parse(content);
    readValue(fileSchema(installation), parsed);
    return parsed as ConfigFile;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(`${name}: ${error.message}`, { cause: error.cause });
  }
};

const contentOf = (file: ConfigFilePath, readText: (path: string) => string | undefined): string | undefined => {
  const content = readText(file.path);
  if (content === undefined && file.isNamed) throw new ConfigError(`${file.path} does not exist`);
  return content;
};

const parse = (content: string): unknown => {
  try {
    return JSON.parse(content, refusePrototypes);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`it is not JSON${placeOf(error, content)}`);
  }
};

/** A schema of free names drops this name instead of refusing it. */
const refusePrototypes = (name: string, value: unknown): unknown => {
  if (name === "__proto__") throw new ConfigError("__proto__ is not a possible name");
  return value;
};

/** The parser's own message quotes the file, which may hold secrets, so only the place is taken from it. */
const placeOf = (error: unknown, content: string): string => {
  const position = /at position (\d+)/.exec((error as Error).message)?.[1];
  if (position === undefined) return "";
  const before = content.slice(0, Number(position)).split("\n");
  return ` (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`;
};
