import { parseArgs } from "node:util";

import { ConfigError } from "./config-error.ts";

/**
 * Reads `--name value` and `--name=value`; the last one of a name counts. `program` is named in refusals. Throws
 * ConfigError for anything else, for a name that is not among `names`, and for one of `refused`, whose message it has.
 */
export const readFlags = (
  program: string,
  argv: readonly string[],
  names: readonly string[],
  refused: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> => {
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" } as const]));
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true });
  const flags = new Map<string, string>();
  for (const token of tokens) {
    if (token.kind !== "option") throw new ConfigError(`"${argv[token.index]}" is not a flag; flags begin with --`);
    const { name, rawName, value, inlineValue } = token;
    const refusal = refused.get(name);
    if (refusal !== undefined) throw new ConfigError(refusal);
    if (!names.includes(name) || !rawName.startsWith("--"))
      throw new ConfigError(`${program} has no flag ${rawName}; --help lists them`);
    // What follows may be the next flag; a value that begins with a dash is written after an equals sign.
    if (value === undefined || (!inlineValue && value.startsWith("-")))
      throw new ConfigError(`${rawName} needs a value`);
    flags.set(name, value);
  }
  return flags;
};
