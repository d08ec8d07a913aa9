import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { verifyAuditFiles } from "../kit/audit/verify.ts";
import { ConfigError, loadConfig } from "../kit/config/config.ts";
import { answerAsked } from "../kit/config/usage.ts";
import { processNames } from "./processes.ts";
import { installation } from "./settings.ts";
import { runCommand } from "./tool.ts";

/**
 * Verifies the audit log of one process by its files, or without files those of all processes: prints the first line
 * that breaks its chain, or how far the chain reaches. The status is 0 if nothing is broken, 1 if a line is, and 2 if
 * the files cannot be read.
 */
const main = async (): Promise<number> => {
  const argv = process.argv.slice(2);
  answerAsked(argv, {
    command: "npm run --silent audit -- verify [FILE...]",
    about: [
      "Verifies that no line of an audit log was changed, removed, added or exchanged.",
      "Without files: of all processes. Else name all files of one: <data directory>/<process>/audit/*.jsonl.",
      "The number and digest of the last line, which it prints, show later whether lines were cut off; keep them elsewhere.",
    ],
    settings: [{ heading: "Shared settings", table: installation.shared, hasFlags: true }],
  });
  const [verb, ...rest] = argv;
  if (verb !== "verify") throw new ConfigError("the command is verify; --help says more");
  if (rest.some((argument) => !argument.startsWith("--"))) return verify(rest, "");
  const { dataDir } = loadConfig(installation, "audit", {}, { argv: rest, env: process.env, directory: process.cwd() });
  const logs = (await Promise.all(processNames.map((name) => logOf(dataDir, name)))).flat();
  if (logs.length === 0) throw new ConfigError(`${dataDir} has no audit logs`);
  const statuses: number[] = [];
  for (const { name, files } of logs) statuses.push(await verify(files, `${name}: `));
  return Math.max(...statuses);
};

/** The files of the audit log of a process; nothing if it has none. */
const logOf = async (dataDir: string, name: string): Promise<{ readonly name: string; readonly files: string[] }[]> => {
  const directory = join(dataDir, name, "audit");
  const found = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new ConfigError(`the files cannot be read: ${error.message}`);
  });
  const files = found.filter((file) => file.endsWith(".jsonl")).toSorted();
  return files.length === 0 ? [] : [{ name, files: files.map((file) => join(directory, file)) }];
};

/** Prints the outcome on one log, and returns its status. */
const verify = async (files: readonly string[], title: string): Promise<number> => {
  const { lines, first, end, torn, broken } = await verifyAuditFiles(files).catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`the files cannot be read: ${error.message}`);
  });
  for (const place of torn) process.stdout.write(`${title}${place} is torn: its process was killed while it wrote\n`);
  if (broken !== undefined) {
    process.stdout.write(`${title}${broken.place} breaks the chain: ${broken.problem}\n`);
    return 1;
  }
  const range = end === undefined ? "" : `, numbers ${first} to ${end.sequence}, last digest ${end.digest}`;
  process.stdout.write(`${title}${lines} lines in an unbroken chain${range}\n`);
  return 0;
};

await runCommand("audit", main);
