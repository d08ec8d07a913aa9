import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** One value that an installation may set. */
export interface Setting<T> {
  readonly fallback: T;
  /** One sentence for `--help`: what it does and its unit. */
  readonly describe: string;
  /** Hidden when the configuration is printed. */
  readonly isSecret: boolean;
  /** Throws an Error that says what is accepted. */
  readonly parse: (text: string) => T;
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

/** All settings of an installation: those every process shares, and each process's own. */
export interface Installation {
  readonly shared: SettingsTable;
  readonly processes: Readonly<Record<string, SettingsTable>>;
}

/** Where a process finds its settings. */
export interface ConfigSources {
  /** Arguments after the script's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directory that relative paths are resolved against. */
  readonly directory: string;
}

/** The caller's settings cannot be used; the message says which and why. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Environment variables that begin like settings and are not: the launcher's words to its children. */
const reservedVariables = new Set(["QUARTET_LOG_PRETTY", "QUARTET_ROUNDS", "QUARTET_READY_JSON"]);

const setting = <T>(fallback: T, describe: string, parse: (text: string) => T, isSecret = false): Setting<T> => ({
  fallback,
  describe,
  isSecret,
  parse,
});

export const text = (fallback: string, describe: string): Setting<string> =>
  setting(fallback, describe, (given) => given);

/** A text that is never printed. */
export const secret = (describe: string): Setting<string> => setting("", describe, (given) => given, true);

export const integer = (fallback: number, describe: string, min: number, max: number): Setting<number> =>
  setting(fallback, describe, (given) => {
    const value = Number(given);
    if (!/^-?\d+$/.test(given) || value < min || value > max)
      throw new Error(`a whole number from ${min} to ${max} is expected`);
    return value;
  });

export const choice = <const Words extends readonly [string, ...string[]]>(
  words: Words,
  describe: string,
): Setting<Words[number]> =>
  setting<Words[number]>(words[0], describe, (given) => {
    const found = words.find((word) => word === given);
    if (found === undefined) throw new Error(`one of ${words.join(", ")} is expected`);
    return found;
  });

export const address = (fallback: string, describe: string): Setting<Address> =>
  setting(parseAddress(fallback), describe, parseAddress);

/** A list of words separated by commas. */
export const words = (fallback: readonly string[], describe: string): Setting<readonly string[]> =>
  setting(fallback, describe, (given) =>
    given
      .split(",")
      .map((word) => word.trim())
      .filter((word) => word !== ""),
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

/** `objectStorage` from `object-storage`. */
const camelName = (name: string): string => name.replace(/-([a-z])/g, (_dash, letter: string) => letter.toUpperCase());
/** `data-dir` from `dataDir`. */
const kebabName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const upperName = (name: string): string => kebabName(name).replaceAll("-", "_").toUpperCase();

/** The environment variable of a setting: QUARTET_DATA_DIR, QUARTET_OBJECT_STORAGE_LISTEN. */
export const variableName = (name: string, process?: string): string =>
  process === undefined ? `QUARTET_${upperName(name)}` : `QUARTET_${upperName(process)}_${upperName(name)}`;

interface Slot {
  readonly name: string;
  readonly process: string | undefined;
  readonly setting: Setting<unknown>;
}

/**
 * Reads the settings of one process: flags over `QUARTET_*` variables over the file over defaults. The file is
 * `--config` or `quartet.json` where it exists. Throws ConfigError for a key that no process of the installation has
 * and for a value that its setting does not take.
 */
export const loadConfig = <Shared extends SettingsTable, Own extends SettingsTable>(
  installation: Installation & { readonly shared: Shared },
  process: string,
  own: Own,
  sources: ConfigSources,
): SettingsOf<Shared> & SettingsOf<Own> => {
  const flags = readFlags(sources.argv);
  const file = readConfigFile(flags.get("config"), sources.directory);
  flags.delete("config");
  refuseUnknown(installation, process, flags, sources.env, file);
  const slots: Slot[] = [
    ...Object.entries(installation.shared).map(([name, shared]) => ({ name, process: undefined, setting: shared })),
    ...Object.entries(own).map(([name, each]) => ({ name, process, setting: each })),
  ];
  const values = slots.map((slot) => [slot.name, readSlot(slot, flags, sources.env, file)] as const);
  return Object.fromEntries(values) as SettingsOf<Shared> & SettingsOf<Own>;
};

/** The effective settings as lines `name = value`, secrets hidden. */
export const printConfig = (tables: readonly SettingsTable[], values: Readonly<Record<string, unknown>>): string =>
  tables
    .flatMap((table) => Object.entries(table))
    .map(([name, each]) => {
      const value = values[name];
      const shown = isAddress(value) ? formatAddress(value) : String(value);
      return `${name} = ${each.isSecret && shown !== "" ? "[hidden]" : shown}`;
    })
    .join("\n");

/** A line for each setting: its flag, its variable, its default and what it does. */
export const describeSettings = (tables: ReadonlyArray<readonly [string | undefined, SettingsTable]>): string =>
  tables
    .flatMap(([process, table]) =>
      Object.entries(table).map(([name, each]) => {
        const fallback = isAddress(each.fallback) ? formatAddress(each.fallback) : String(each.fallback);
        return `  --${kebabName(name)}  (${variableName(name, process)}; default ${fallback || "none"})\n      ${each.describe}`;
      }),
    )
    .join("\n");

const isAddress = (value: unknown): value is Address => typeof value === "object" && value !== null && "port" in value;

const readFlags = (argv: readonly string[]): Map<string, string> => {
  const flags = new Map<string, string>();
  for (let index = 0; index < argv.length; index++) {
    const match = /^--([a-z][a-z0-9-]*)(?:=(.*))?$/s.exec(argv[index] ?? "");
    if (match?.[1] === undefined) throw new ConfigError(`"${argv[index]}" is not a flag; flags begin with --`);
    const value = match[2] ?? argv[++index];
    if (value === undefined) throw new ConfigError(`--${match[1]} needs a value`);
    flags.set(match[1], value);
  }
  return flags;
};

type ConfigFile = Readonly<Record<string, unknown>>;

const readConfigFile = (named: string | undefined, directory: string): ConfigFile => {
  const path = resolve(directory, named ?? "quartet.json");
  let content: string;
  try {
    content = readFileSync(path, "utf8");
  } catch (error) {
    if (named === undefined && (error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new ConfigError(`${path} cannot be read`, { cause: error });
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch (error) {
    throw new ConfigError(`${path} is not JSON: ${(error as Error).message}`, { cause: error });
  }
  if (!isObject(parsed)) throw new ConfigError(`${path} must hold a JSON object`);
  return parsed;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const refuseUnknown = (
  installation: Installation,
  process: string,
  flags: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string | undefined>>,
  file: ConfigFile,
): void => {
  const tables = Object.entries(installation.processes);
  const knownFlags = [installation.shared, installation.processes[process] ?? {}].flatMap((table) =>
    Object.keys(table).map(kebabName),
  );
  for (const flag of flags.keys())
    if (!knownFlags.includes(flag)) throw new ConfigError(`${process} has no flag --${flag}; --help lists them`);
  const knownVariables = new Set([
    ...reservedVariables,
    ...Object.keys(installation.shared).map((name) => variableName(name)),
    ...tables.flatMap(([owner, table]) => Object.keys(table).map((name) => variableName(name, owner))),
  ]);
  for (const variable of Object.keys(env))
    if (variable.startsWith("QUARTET_") && !knownVariables.has(variable))
      throw new ConfigError(`${variable} is no setting of this installation`);
  for (const [key, value] of Object.entries(file)) {
    const section = tables.find(([owner]) => camelName(owner) === key);
    if (section === undefined) {
      if (!(key in installation.shared)) throw new ConfigError(`quartet.json: "${key}" is no setting`);
    } else {
      if (!isObject(value)) throw new ConfigError(`quartet.json: "${key}" must be an object`);
      for (const inner of Object.keys(value))
        if (!(inner in section[1])) throw new ConfigError(`quartet.json: "${key}.${inner}" is no setting`);
    }
  }
};

const readSlot = (
  slot: Slot,
  flags: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string | undefined>>,
  file: ConfigFile,
): unknown => {
  const variable = variableName(slot.name, slot.process);
  const section = slot.process === undefined ? file : file[camelName(slot.process)];
  const inFile = isObject(section) ? section[slot.name] : undefined;
  const [origin, given] =
    flags.get(kebabName(slot.name)) !== undefined
      ? [`--${kebabName(slot.name)}`, flags.get(kebabName(slot.name))]
      : env[variable] !== undefined
        ? [variable, env[variable]]
        : [`quartet.json: "${slot.name}"`, fileText(inFile)];
  if (given === undefined) return slot.setting.fallback;
  try {
    return slot.setting.parse(given);
  } catch (error) {
    throw new ConfigError(`${origin}: ${(error as Error).message}`, { cause: error });
  }
};

const fileText = (value: unknown): string | undefined => {
  if (value === undefined) return undefined;
  if (Array.isArray(value)) return value.join(",");
  return typeof value === "string" ? value : JSON.stringify(value);
};
