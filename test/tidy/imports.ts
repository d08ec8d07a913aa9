import { dirname, join, normalize } from "node:path";

import type { Finding, Tree } from "./tree.ts";
import { filesOf } from "./tree.ts";

/** The paths that a file imports from this repository, types included. */
export const importsOf = (path: string, content: string): string[] =>
  [...content.matchAll(/(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g)].map((match) =>
    normalize(join(dirname(path), match[1] ?? "")),
  );

/** A finding for each import to which `refusal` has an objection. */
export const importFindings = (
  tree: Tree,
  files: RegExp,
  refusal: (path: string, imported: string) => string | undefined,
): Finding[] =>
  filesOf(tree, files).flatMap(([path, content]) =>
    [...new Set(importsOf(path, content))].flatMap((imported) => {
      const message = refusal(path, imported);
      return message === undefined ? [] : [{ path, line: 0, message }];
    }),
  );

/** The circles of a graph: sets of two and more nodes that reach each other, each sorted. */
export const circlesOf = (graph: ReadonlyMap<string, readonly string[]>): string[][] => {
  // Tarjan: a node is the root of its set if nothing below it reaches a node that was entered earlier.
  const entered = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const lower = (node: string, to: number): void => {
    lowest.set(node, Math.min(lowest.get(node) ?? to, to));
  };
  const visit = (node: string): void => {
    const order = entered.size;
    entered.set(node, order);
    lower(node, order);
    open.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!entered.has(next)) {
        visit(next);
        lower(node, lowest.get(next) ?? order);
      } else if (open.includes(next)) lower(node, entered.get(next) ?? order);
    }
    if (lowest.get(node) !== order) return;
    const circle = open.splice(open.indexOf(node));
    if (circle.length > 1) circles.push(circle.toSorted());
  };
  for (const node of graph.keys()) if (!entered.has(node)) visit(node);
  return circles;
};
