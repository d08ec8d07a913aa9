import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The files of the repository: path from the root to content; empty for those that are not text. */
export type Tree = ReadonlyMap<string, string>;

/** One breach of a rule. */
export interface Finding {
  readonly path: string;
  /** 1-based; 0 when the whole file is meant. */
  readonly line: number;
  readonly message: string;
}

const textEndings = /\.(?:ts|proto|md|json|ya?ml|py|sh|go)$|(?:^|\/)(?:run|\.gitignore|LICENSE)$/;

/** Reads every file that git tracks or would track. */
export const readTree = (root: string): Tree => {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  const paths = listed.split("\n").filter((path) => path !== "" && existsSync(join(root, path)));
  return new Map(paths.map((path) => [path, textEndings.test(path) ? readFileSync(join(root, path), "utf8") : ""]));
};

/** The files whose path matches, in order. */
export const filesOf = (tree: Tree, pattern: RegExp): ReadonlyArray<readonly [string, string]> =>
  [...tree].filter(([path]) => pattern.test(path)).toSorted(([a], [b]) => (a < b ? -1 : 1));

/** A finding for each line that matches and that the exemption does not. */
export const findLines = (
  files: ReadonlyArray<readonly [string, string]>,
  pattern: RegExp,
  message: string,
  exempt?: RegExp,
): Finding[] =>
  files.flatMap(([path, content]) =>
    content
      .split("\n")
      .map((text, index) => ({ text, line: index + 1 }))
      .filter(({ text }) => pattern.test(text) && !exempt?.test(text))
      .map(({ line }) => ({ path, line, message })),
  );
