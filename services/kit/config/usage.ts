import manifest from "../../../package.json" with { type: "json" };
import type { DescribedSettings } from "./config.ts";
import { describeSettings } from "./config.ts";

/** The version of this program. */
export const programVersion: string = manifest.version;

/** How a program is called. */
export interface Usage {
  /** Its command line: `npm start -- [flags]`. */
  readonly command: string;
  /** What it does, in sentences of one line each. */
  readonly about: readonly string[];
  /** Its flags that are no settings, each with a description. `--help` and `--version` are added. */
  readonly flags?: ReadonlyArray<readonly [string, string]>;
  readonly settings: readonly DescribedSettings[];
}

const standardFlags = [
  ["--config FILE", "Configuration file; unset: quartet.json in the working directory, where it exists."],
  ["--help, -h", "Prints this and ends."],
  ["--version", "Prints the version and ends."],
] as const;

/** The text of a program's `--help`: usage, flags, then settings with their flags, variables and defaults. */
const describeUsage = ({ command, about, flags = [], settings }: Usage): string => {
  const allFlags = [...flags, ...standardFlags].map(([flag, description]) => `  ${flag}\n      ${description}`);
  return [
    `Usage: ${command}`,
    "",
    ...about,
    "",
    "Flags:",
    ...allFlags,
    ...settings.flatMap((group) => ["", describeSettings(group)]),
  ].join("\n");
};

/**
 * The text that a program prints instead of running, where its arguments ask for one with `--help`, `-h` or
 * `--version`; otherwise undefined.
 */
const askedText = (argv: readonly string[], usage: Usage): string | undefined => {
  if (argv.includes("--help") || argv.includes("-h")) return describeUsage(usage);
  return argv.includes("--version") ? `quartet ${programVersion}` : undefined;
};

/** Prints what the arguments ask for, if anything, and ends the process with status 0. */
export const answerAsked = (argv: readonly string[], usage: Usage): void => {
  const text = askedText(argv, usage);
  if (text === undefined) return;
  process.stdout.write(`${text}\n`);
  process.exit(0);
};
