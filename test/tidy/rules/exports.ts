import { dirname, join, normalize } from "node:path";

import { codeOf } from "../comments.ts";
import type { Rule } from "../rule.ts";
import { code } from "../rule.ts";
import type { Tree } from "../tree.ts";
import { filesOf } from "../tree.ts";

/**
 * Exports that nothing in the product imports, each with its reason. `*` in a path stands for any file of the folder.
 */
const allowed: ReadonlyMap<string, string> = new Map([
  ["test/bench/*#group", "test/bench/main.ts imports each group by its name"],
  ["services/kit/accounts/assume-role.ts#assumeRole", "decides on a role's trust; no operation issues sessions yet"],
  ["services/kit/identity/access-keys.ts#fixedAccessKeys", "keys of a test, without a file"],
  ["services/kit/keyring/master-keys.ts#fixedMasterKeys", "keys of a test, without a file"],
  ["services/kit/policy/condition.ts#operatorNames", "a test shows that each operator was tried"],
  ["services/kit/store/table.ts#keyBytes", "tests compare a table's keys with literal bytes"],
  ["services/kit/store/table.ts#pretty", "tests show the keys that they find"],
  ["services/customer-profile/store/layout.ts#layout", "tests read all tables of the database"],
  ["services/object-storage/store/layout.ts#layout", "tests read all tables of the database"],
  ["services/refactoring-workspace/store/layout.ts#layout", "tests read all tables of the database"],
]);

interface Exported {
  readonly path: string;
  readonly name: string;
  readonly isType: boolean;
  /** True if the file names it elsewhere than where it is declared. */
  readonly isUsedInside: boolean;
}

const exportsOf = (path: string, content: string): Exported[] => {
  const text = codeOf(content);
  const declared = text.matchAll(
    /^export (const|let|async function\*?|function\*?|abstract class|class|interface|type|enum) (\w+)/gm,
  );
  return [...declared].map(([, kind = "", name = ""]) => ({
    path,
    name,
    isType: kind === "interface" || kind === "type",
    isUsedInside: [...text.matchAll(new RegExp(`\\b${name}\\b`, "g"))].length > 1,
  }));
};

/** Who imports what: `path#name` to the importing files; `path#*` where a file takes all of another. */
const usersOf = (tree: Tree): Map<string, string[]> => {
  const users = new Map<string, string[]>();
  const add = (from: string, target: string, name: string): void => {
    const key = `${normalize(join(dirname(from), target))}#${name}`;
    users.set(key, [...(users.get(key) ?? []), from]);
  };
  for (const [path, content] of filesOf(tree, code)) {
    for (const [, names = "", target = ""] of content.matchAll(
      /\b(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s*from\s*"(\.[^"]+)"/g,
    ))
      for (const name of names.split(",").map((each) => each.trim().replace(/^type\s+/, "")))
        if (name !== "") add(path, target, name.split(/\s+as\s+/)[0] ?? "");
    for (const [, starred, dynamic] of content.matchAll(
      /\bimport\s+\*\s+as\s+\w+\s+from\s*"(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/g,
    ))
      add(path, starred ?? dynamic ?? "", "*");
  }
  return users;
};

const isAllowed = ({ path, name }: Exported): boolean =>
  allowed.has(`${path}#${name}`) || allowed.has(`${dirname(path)}/*#${name}`);

/** What is wrong with an export; undefined: something needs it. */
const problemOf = (exported: Exported, users: readonly string[]): string | undefined => {
  const { path, name, isType, isUsedInside } = exported;
  if (users.length === 0) {
    if (!isUsedInside) return `${name} is used nowhere`;
    return isType ? undefined : `${name} is used only here and needs no export`;
  }
  const isProduct = !path.startsWith("test/");
  return isProduct && !isUsedInside && users.every((user) => user.startsWith("test/"))
    ? `only tests use ${name}`
    : undefined;
};

export const exportRules: readonly Rule[] = [
  {
    name: "each export is used, and not only by tests",
    check: (tree) => {
      const users = usersOf(tree);
      return filesOf(tree, code)
        .flatMap(([path, content]) => exportsOf(path, content))
        .filter((exported) => !isAllowed(exported))
        .flatMap((exported) => {
          const { path, name } = exported;
          const message = problemOf(
            exported,
            [`${path}#${name}`, `${path}#*`].flatMap((key) => users.get(key) ?? []),
          );
          return message === undefined ? [] : [{ path, line: 0, message }];
        });
    },
  },
];
