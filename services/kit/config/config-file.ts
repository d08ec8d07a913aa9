import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";

import { ConfigError } from "./config-error.ts";
import type { SettingsTable } from "./setting.ts";
import { textInFile } from "./setting.ts";
import type { Shape } from "./shape.ts";
import { isObject, memberPath } from "./shape.ts";

/** All that an installation's configuration file may hold. */
export interface Installation {
  /** Settings that every process shares. */
  readonly shared: SettingsTable;
  /** Each process's own settings, by its name. */
  readonly processes: Readonly<Record<string, SettingsTable>>;
  /** What is declared beside settings, by the name of its section. */
  readonly sections?: Readonly<Record<string, Shape<unknown>>>;
}

/** Which file holds the configuration. */
export interface ConfigFilePath {
  readonly path: string;
  /** True when somebody named it: then it must be there. */
  readonly isNamed: boolean;
}

/** What a configuration file holds, by its topmost names. */
export type ConfigFile = Readonly<Record<string, unknown>>;

/** Names the schema that an editor checks the file by; nothing else looks at it. */
export const schemaMember = "$schema";

/** The file that `--config` names, or `quartet.json`; relative to the directory. */
export const configFilePath = (named: string | undefined, directory: string): ConfigFilePath => ({
  path: resolve(directory, named ?? "quartet.json"),
  isNamed: named !== undefined,
});

/** `objectStorage` from `object-storage`: the name of a process's section. */
export const sectionName = (name: string): string =>
  name.replace(/-([a-z])/g, (_dash, letter: string) => letter.toUpperCase());

/**
 * Reads and checks a whole configuration file: every name must be known and every value must be one that its setting or
 * section takes, also those of other processes. A file that nobody named may be absent. `readText` gives undefined for
 * an absent file. Throws ConfigError.
 */
export const readConfigFile = (
  installation: Installation,
  file: ConfigFilePath,
  readText: (path: string) => string | undefined = textOf,
): ConfigFile => {
  const content = contentOf(file, readText);
  if (content === undefined) return {};
  const name = basename(file.path);
  try {
    const parsed = parse(content);
    checkNames(installation, parsed);
    return parsed;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(`${name}: ${error.message}`, { cause: error.cause });
  }
};

const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
};

const contentOf = (file: ConfigFilePath, readText: (path: string) => string | undefined): string | undefined => {
  let content: string | undefined;
  try {
    content = readText(file.path);
  } catch (error) {
    throw new ConfigError(`${file.path} cannot be read`, { cause: error });
  }
  if (content === undefined && file.isNamed) throw new ConfigError(`${file.path} cannot be read`);
  return content;
};

const parse = (content: string): ConfigFile => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch (error) {
    throw new ConfigError(`it is not JSON${placeOf(error, content)}`);
  }
  if (!isObject(parsed)) throw new ConfigError("it must hold a JSON object");
  return parsed;
};

/** The parser's own message quotes the file, which may hold secrets, so only the place is taken from it. */
const placeOf = (error: unknown, content: string): string => {
  const position = /at position (\d+)/.exec((error as Error).message)?.[1];
  if (position === undefined) return "";
  const before = content.slice(0, Number(position)).split("\n");
  return ` (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`;
};

const checkNames = (installation: Installation, file: ConfigFile): void => {
  const processes = new Map(Object.entries(installation.processes).map(([name, own]) => [sectionName(name), own]));
  const sections = installation.sections ?? {};
  const known = [...Object.keys(installation.shared), ...processes.keys(), ...Object.keys(sections)];
  for (const [name, value] of Object.entries(file)) {
    const path = memberPath("", name);
    const own = processes.get(name);
    if (Object.hasOwn(sections, name)) sections[name]?.read(value, path);
    else if (own !== undefined) checkSettings(own, value, path);
    else if (Object.hasOwn(installation.shared, name)) checkSetting(installation.shared, name, value, path);
    else if (name !== schemaMember) throw new ConfigError(`${path} is not known; known are ${known.join(", ")}`);
  }
};

const checkSettings = (table: SettingsTable, value: unknown, path: string): void => {
  if (!isObject(value)) throw new ConfigError(`${path} must be an object`);
  for (const [name, each] of Object.entries(value)) {
    const place = memberPath(path, name);
    if (!Object.hasOwn(table, name))
      throw new ConfigError(`${place} is not known; known are ${Object.keys(table).join(", ")}`);
    checkSetting(table, name, each, place);
  }
};

const checkSetting = (table: SettingsTable, name: string, value: unknown, path: string): void => {
  const declared = table[name];
  if (declared === undefined) return;
  const given = textInFile(declared, value, path);
  try {
    declared.parse(given);
  } catch (error) {
    throw new ConfigError(`${path}: ${(error as Error).message}`);
  }
};
