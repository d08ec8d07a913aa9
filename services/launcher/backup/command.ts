import { resolve } from "node:path";

import type { Damage } from "../../kit/backup/stored-data.ts";
import { ConfigError, loadConfig } from "../../kit/config/config.ts";
import { answerAsked } from "../../kit/config/usage.ts";
import { installation } from "../settings.ts";
import { runCommand } from "../tool.ts";

/** A command on backups. */
export interface BackupCommand {
  /** Its script in package.json. */
  readonly name: string;
  /** Its operands, as its usage names them: `DIR`. */
  readonly operands: readonly string[];
  readonly about: readonly string[];
  /** Its flags that are no settings: name, value (empty: none), description. */
  readonly flags: ReadonlyArray<readonly [string, string, string]>;
  /** Returns the status that the process ends with. */
  run(call: BackupCall): Promise<number>;
}

/** How a command was called. */
export interface BackupCall {
  /** Absolute paths. */
  readonly operands: readonly string[];
  /** The command's own flags; one without a value is empty. */
  readonly flags: ReadonlyMap<string, string>;
  /** The other arguments: settings of the installation as flags. */
  readonly settings: readonly string[];
  readonly config: ReturnType<typeof sharedConfig>;
  print(line: string): void;
}

/** Runs a command with the process's arguments: operands first, then flags. */
export const runBackupCommand = async ({ name, operands, about, flags, run }: BackupCommand): Promise<void> => {
  const argv = process.argv.slice(2);
  answerAsked(argv, {
    command: `npm run --silent ${name} -- ${operands.join(" ")} [flags]`,
    about,
    flags: flags.map(([flag, value, description]) => [`--${flag}${value === "" ? "" : ` ${value}`}`, description]),
    settings: [{ heading: "Shared settings", table: installation.shared, hasFlags: true }],
  });
  await runCommand(name, async () => {
    const end = argv.findIndex((argument) => argument.startsWith("--"));
    const given = end === -1 ? argv : argv.slice(0, end);
    if (given.length !== operands.length) throw new ConfigError(`it needs ${operands.join(" and ")}; --help says more`);
    const { own, settings } = takeFlags(argv.slice(given.length), flags);
    const print = (line: string): void => void process.stdout.write(`${line}\n`);
    // npm runs scripts in the root of the repository, and says here where it was called.
    const paths = given.map((path) => resolve(process.env["INIT_CWD"] ?? "", path));
    return run({ operands: paths, flags: own, settings, config: sharedConfig(name, settings), print });
  });
};

const sharedConfig = (name: string, argv: readonly string[]) =>
  loadConfig(installation, name, {}, { argv, env: process.env, directory: process.cwd() });

/** Takes a command's own flags out of its arguments. Throws ConfigError if a value is missing. */
const takeFlags = (argv: readonly string[], known: BackupCommand["flags"]) => {
  const own = new Map<string, string>();
  const settings: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const argument = argv[at] as string;
    const [, name = "", inline] = /^--([a-z-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    const declared = known.find(([flag]) => flag === name);
    if (declared === undefined) settings.push(argument);
    else if (declared[1] === "") own.set(name, "");
    else {
      const value = inline ?? argv[(at += 1)];
      if (value === undefined || value === "") throw new ConfigError(`--${name} needs a value`);
      own.set(name, value);
    }
  }
  return { own, settings };
};

/** What is damaged, as lines for people. */
export const damageLines = (where: string, damages: readonly Damage[]): readonly string[] =>
  damages.map(({ subject, reason }) => `${where}: ${subject}: ${reason}`);
