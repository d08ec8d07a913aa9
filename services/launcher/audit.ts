import { verifyAuditFiles } from "../kit/audit/verify.ts";
import { ConfigError } from "../kit/config/config.ts";
import { answerAsked } from "../kit/config/usage.ts";
import { runCommand } from "./tool.ts";

/**
 * Verifies the audit log of a service: prints the first line that breaks its chain, or how far the chain reaches. The
 * status is 0 if nothing is broken, 1 if a line is, and 2 if the files cannot be read.
 */
const main = async (): Promise<number> => {
  const argv = process.argv.slice(2);
  answerAsked(argv, {
    command: "npm run --silent audit -- verify FILE...",
    about: [
      "Verifies that no line of an audit log was changed, removed, added or exchanged.",
      "Name all files of one service: <data directory>/<service>/audit/*.jsonl.",
      "The number and digest of the last line, which it prints, show later whether lines were cut off; keep them elsewhere.",
    ],
    settings: [],
  });
  const [verb, ...files] = argv;
  if (verb !== "verify" || files.length === 0)
    throw new ConfigError("the command is verify and needs the files; --help says more");
  const { lines, first, end, torn, broken } = await verifyAuditFiles(files).catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`the files cannot be read: ${error.message}`);
  });
  for (const place of torn) process.stdout.write(`${place} is torn: its process was killed while it wrote\n`);
  if (broken !== undefined) {
    process.stdout.write(`${broken.place} breaks the chain: ${broken.problem}\n`);
    return 1;
  }
  const range = end === undefined ? "" : `, numbers ${first} to ${end.sequence}, last digest ${end.digest}`;
  process.stdout.write(`${lines} lines in an unbroken chain${range}\n`);
  return 0;
};

await runCommand("audit", main);
