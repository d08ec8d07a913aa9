import { ConfigError, loadConfig } from "../kit/config/config.ts";
import type { SettingsOf } from "../kit/config/config.ts";
import { answerAsked } from "../kit/config/usage.ts";
import { startFailure } from "../kit/process/start-failure.ts";
import type { sharedSettings } from "./shared-settings.ts";
import { installation } from "./settings.ts";

/** A command next to the processes: it reads the shared settings, prints a text and ends. */
export interface Tool {
  /** Its script in package.json. */
  readonly name: string;
  readonly about: readonly string[];
  /** Its one flag that is no setting. */
  readonly flag?: { readonly name: string; readonly value: string; readonly description: string };
  /** Returns what is printed. `given` is the value of its flag. Throws ConfigError. */
  run(config: SettingsOf<typeof sharedSettings>, given: string | undefined): Promise<string> | string;
}

/** Runs a tool with the process's arguments. An error in them, or of a file, is one line and ends with status 2. */
export const runTool = async ({ name, about, flag, run }: Tool): Promise<void> => {
  const argv = process.argv.slice(2);
  answerAsked(argv, {
    command: `npm run --silent ${name} -- [flags]`,
    about,
    flags: flag === undefined ? [] : [[`--${flag.name} ${flag.value}`, flag.description]],
    settings: [{ heading: "Shared settings", table: installation.shared, hasFlags: true }],
  });
  await runCommand(name, async () => {
    const given = flag === undefined ? undefined : takeFlag(argv, flag.name);
    const config = loadConfig(installation, name, {}, { argv, env: process.env, directory: process.cwd() });
    process.stdout.write(`${await run(config, given)}\n`);
    return 0;
  });
};

/**
 * Runs a command, which returns the status that the process ends with. An error that can be described is one line and
 * status 2; any other is thrown.
 */
export const runCommand = async (
  name: string,
  run: () => Promise<number>,
  describe: (error: unknown) => string | undefined = startFailure,
): Promise<void> => {
  try {
    process.exitCode = await run();
  } catch (error) {
    const message = describe(error);
    if (message === undefined) throw error;
    process.stderr.write(`${name}: ${message}\n`);
    process.exitCode = 2;
  }
};

/** Takes `--name value` or `--name=value` out of the arguments. Throws ConfigError if the value is missing. */
const takeFlag = (argv: string[], name: string): string | undefined => {
  const at = argv.findIndex((argument) => argument === `--${name}` || argument.startsWith(`--${name}=`));
  if (at === -1) return undefined;
  const hasOwnValue = argv[at] !== `--${name}`;
  const taken = argv.splice(at, hasOwnValue ? 1 : 2);
  const value = hasOwnValue ? taken[0]?.slice(name.length + 3) : taken[1];
  if (value === undefined || value === "") throw new ConfigError(`--${name} needs a value`);
  return value;
};
