import type { Branch } from "./condition.ts";
import type { FlatEvent } from "./flatten.ts";
import { Matcher } from "./matcher.ts";
import type { Pattern } from "./parse.ts";

/**
 * The first field, in order of their names, that keeps an event from matching a pattern; of several branches, of the
 * one that matches the most fields. Undefined: the event matches. `flatten` returns the event's leaves of the wanted
 * paths.
 */
export const failedField = (
  { branches }: Pattern,
  flatten: (wanted: (path: string) => boolean) => FlatEvent,
): string | undefined => {
  let best = { matched: -1, path: "" };
  for (const branch of branches) {
    const paths = [...branch.keys()].toSorted();
    const matched = paths.findIndex((_path, index) => !matches(branch, paths.slice(0, index + 1), flatten));
    if (matched === -1) return undefined;
    if (matched > best.matched) best = { matched, path: paths[matched] ?? "" };
  }
  return best.path;
};

const matches = (
  branch: Branch,
  paths: readonly string[],
  flatten: (wanted: (path: string) => boolean) => FlatEvent,
): boolean => {
  const part = new Map([...branch].filter(([path]) => paths.includes(path)));
  const matcher = new Matcher<true>().with([{ name: "", pattern: { branches: [part] }, item: true }]);
  return matcher.match(flatten(matcher.wants)).length > 0;
};
