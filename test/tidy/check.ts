import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

import { commitProblem, readCommits } from "./commits.ts";
import { rules } from "./rules.ts";
import { readTree } from "./tree.ts";

/**
 * `npm run check`: format, lint, types, the protos' lint and compatibility, generated code against its source, and the
 * rules of tidy. Each step prints one line; the first lines of what is wrong follow a failed one.
 */
const root = join(import.meta.dirname, "..", "..");
/** The contract as last released: later protos may add to it and change nothing in it. */
const releasedImage = "proto/released.binpb";

interface Step {
  readonly name: string;
  /** Lines that say what is wrong and what to do; none when all is well. */
  readonly run: () => string[];
}

const command =
  (...words: readonly [string, ...string[]]) =>
  (): string[] => {
    const ended = spawnSync(words[0], words.slice(1), { cwd: root, encoding: "utf8" });
    if (ended.error !== undefined) return [`${words[0]} cannot run: ${ended.error.message}`];
    return ended.status === 0
      ? []
      : [`${words.join(" ")} ended with ${ended.status}`, ...`${ended.stdout}${ended.stderr}`.trim().split("\n")];
  };

const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .toSorted();

/** Generates the content of a directory elsewhere and compares it with what is committed. */
const drift = (kept: string, script: string, generate: (fresh: string) => string[]) => (): string[] => {
  const fresh = mkdtempSync(join(tmpdir(), "quartet-generate-"));
  try {
    const failed = generate(fresh);
    if (failed.length > 0) return failed;
    const made = join(fresh, kept);
    const committed = join(root, kept);
    const all = new Set([...filesBelow(made), ...filesBelow(committed)]);
    const contentOf = (directory: string, path: string): string | undefined => {
      try {
        return readFileSync(join(directory, path), "utf8");
      } catch {
        return undefined;
      }
    };
    const drifted = [...all].filter((path) => contentOf(made, path) !== contentOf(committed, path));
    return drifted.length === 0
      ? []
      : [`${kept}/ is not what its sources say; run npm run ${script} and commit:`, ...drifted];
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
};

const generatedDrift = drift("gen", "generate", (fresh) => command("buf", "generate", "--output", fresh)());
const referenceDrift = drift("docs/reference", "reference", (fresh) =>
  command("node", "gateway/exports/reference-main.ts", "--out", join(fresh, "docs/reference"))(),
);

const tidy = (): string[] => {
  const tree = readTree(root);
  return rules.flatMap((rule) =>
    rule
      .check(tree)
      .map(
        (finding) => `${finding.path}${finding.line > 0 ? `:${finding.line}` : ""}: ${finding.message} (${rule.name})`,
      ),
  );
};

const commits = (): string[] =>
  readCommits(root)
    .map(commitProblem)
    .filter((problem) => problem !== undefined);

const steps: readonly Step[] = [
  { name: "format", run: command("oxfmt", "--check", ".") },
  { name: "lint", run: command("oxlint", "--type-aware", "--deny-warnings") },
  { name: "types", run: command("tsc", "-p", ".") },
  { name: "proto lint", run: command("buf", "lint") },
  { name: "proto format", run: command("buf", "format", "--diff", "--exit-code") },
  { name: "proto compatibility", run: command("buf", "breaking", "--against", releasedImage) },
  { name: "generated code", run: generatedDrift },
  { name: "reference", run: referenceDrift },
  { name: "tidy", run: tidy },
  { name: "commits", run: commits },
];

const only = process.argv.slice(2);
let failures = 0;
for (const step of steps) {
  if (only.length > 0 && !only.includes(step.name)) continue;
  const startMs = Date.now();
  const wrong = step.run();
  if (wrong.length > 0) failures++;
  process.stdout.write(
    `${wrong.length === 0 ? "ok    " : "FAILED"} ${step.name} (${((Date.now() - startMs) / 1000).toFixed(1)} s)\n`,
  );
  for (const line of wrong.slice(0, +(process.env["LINES"] ?? 60))) process.stdout.write(`         ${line}\n`);
  if (wrong.length > 60) process.stdout.write(`         and ${wrong.length - 60} lines more\n`);
}
process.exit(failures === 0 ? 0 : 1);
