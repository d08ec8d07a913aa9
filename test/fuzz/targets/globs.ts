import { GlobError, parseGlob } from "../../../services/object-storage/domain/glob.ts";
import type { FuzzTarget } from "../target.ts";
import { holds, parsed } from "../target.ts";

/** The contract allows four times as many, for which a match takes 16 times as long: a call is bounded by its steps. */
const charactersMax = 256;

/** The pattern is the first line, the key all that follows. */
const glob: FuzzTarget = {
  name: "glob",
  seeds: [
    "a/**/{b,c*}/[!x-z]?.txt\na/b/c1/ab.txt",
    "**/*.{jpg,tar.{gz,xz}}\na/b.tar.gz",
    "\\*[]a-]{,é}\n*-é",
    "*a*a*ab\naaaaaaaaaaaaaaaaaaaa",
  ],
  dictionary: ["**", "**/", "/**", "{", ",", "}", "[!", "[^", "]", "-", "\\", "?", "*a*a", "{,a}{,a}", "\n"],
  run(input) {
    const [pattern = "", ...rest] = input.toString("utf8").split("\n");
    const found = parsed(() => parseGlob(Array.from(pattern).slice(0, charactersMax).join("")), GlobError);
    if (found === undefined) return;
    const { literalPrefix } = found;
    const key = literalPrefix + rest.join("\n").slice(0, charactersMax);
    const { isMatch, hopelessPrefix, steps } = found.match(key);
    const hopeless = hopelessPrefix ?? "";
    holds(steps <= 4 * (pattern.length + 1) * (key.length + 2) + 20_000, "matching takes too many steps");
    holds(!isMatch || hopelessPrefix === undefined, "a key that matches begins hopelessly");
    holds(key.startsWith(hopeless), "a hopeless prefix is not the beginning of its key");
    if (hopelessPrefix === undefined) return;
    for (const more of ["", "/", key]) holds(!found.match(hopeless + more).isMatch, "a hopeless prefix has a match");
  },
};

export const globTargets: readonly FuzzTarget[] = [glob];
