import type { ParseArgsConfig } from "node:util";
import { parseArgs } from "node:util";

/** Ends the process with a text on the stream for it. */
type End = (text: string, status: 0 | 2) => never;

const end: End = (text, status) => {
  (status === 0 ? process.stdout : process.stderr).write(`${text}\n`);
  process.exit(status);
};

/**
 * The flags of an exporter. Ends the process with the usage for `--help`, and with what is wrong and the usage for a
 * flag that it does not have or that has no value.
 */
export const readFlags = <const Options extends NonNullable<ParseArgsConfig["options"]>>(
  usage: string,
  options: Options,
): ReturnType<typeof parseArgs<{ options: Options }>>["values"] => {
  if (process.argv.includes("--help") || process.argv.includes("-h")) return end(usage, 0);
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return end(`${(error as Error).message}\n${usage}`, 2);
  }
};
