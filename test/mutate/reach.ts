import { readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";

import type { Mutant } from "./mutants.ts";

/** What V8 writes about the functions that ran, as far as it is read here. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/** The name of a test file's directory of coverage: its path below `test`. */
export const directoryOf = (testPath: string): string => testPath.replace(/^.*\/test\//, "").replaceAll("/", "+");

/** The test file whose directory has this name. */
export const testOf = (directory: string): string => `test/${basename(directory).replaceAll("+", "/")}`;

/** Names a function of a file; a file without a name is its first level, which runs when it is loaded. */
const reachKey = (path: string, functionName: string): string => `${path}#${functionName}`;

/** What of the repository's copy ran, by the coverage in a directory, which is removed. */
export const takeReach = (directory: string, root: string): Set<string> => {
  const reached = new Set<string>();
  for (const name of readdirSync(directory)) {
    const { result } = JSON.parse(readFileSync(join(directory, name), "utf8")) as Coverage;
    for (const { url, functions } of result) {
      const path = pathBelow(root, url);
      if (path === undefined) continue;
      for (const { functionName, ranges } of functions)
        if ((ranges[0]?.count ?? 0) > 0) reached.add(reachKey(path, functionName.replace(/^(?:get|set) /, "")));
    }
  }
  rmSync(directory, { recursive: true });
  return reached;
};

/** A source of the repository; undefined for all others. */
const pathBelow = (root: string, url: string): string | undefined => {
  const path = url.replace(/^file:\/\//, "").replace(/\?.*$/, "");
  if (!path.startsWith(`${root}/`)) return undefined;
  const below = path.slice(root.length + 1);
  return /^(?:gateway|services)\/.*\.ts$/.test(below) ? below : undefined;
};

/** A test file, what it reaches, and how long it takes. */
export interface Reach {
  readonly test: string;
  readonly seconds: number;
  readonly reached: ReadonlySet<string>;
}

/** The test files that run the function of a mutant: those of its own folder first, then the quick ones. */
export const testsOf = (mutant: Mutant, reaches: readonly Reach[]): Reach[] => {
  const key = reachKey(mutant.path, mutant.inside);
  const mirror = `test/${mutant.path.replace(/^services\//, "").replace(/\/[^/]*$/, "/")}`;
  const rankOf = ({ test, seconds }: Reach): number => seconds - (test.startsWith(mirror) ? 5 : 0);
  return reaches.filter(({ reached }) => reached.has(key)).toSorted((a, b) => rankOf(a) - rankOf(b));
};
