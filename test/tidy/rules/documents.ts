import { basename, dirname, join, normalize } from "node:path";

import type { Rule } from "../rule.ts";
import type { Tree } from "../tree.ts";
import { filesOf } from "../tree.ts";

const topLevel = /^(?:services|gateway|test|proto|gen|\.ci)\//;
const sourceEnding = /\.(?:ts|proto|md|py|sh)$/;

/** True if a file or a folder has the path; `*`, `…`, `<word>` and `{a,b}` stand for anything. */
const exists = (tree: Tree, path: string): boolean => {
  const wanted = normalize(path).replace(/\/$/, "");
  if (tree.has(wanted)) return true;
  const parts = wanted.split(/(\*+|…|<[^>]+>|\{[^}]+\})/);
  const pattern = parts.map((part, index) => (index % 2 === 1 ? ".*" : part.replace(/[.+?^$()|[\]\\]/g, "\\$&")));
  const matching = new RegExp(`^${pattern.join("")}(?:/|$)`);
  return [...tree.keys()].some((each) => matching.test(each));
};

/** The words of a document that look like paths of this repository. */
const pathsIn = (content: string): string[] => {
  const quoted = [...content.replaceAll(/```.*?```/gs, "").matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? "");
  const commands = [...content.matchAll(/```.*?\n(.*?)```/gs)].map((match) => match[1] ?? "");
  const wordsOf = (texts: readonly string[]): string[] =>
    texts.flatMap((text) => text.split(/\s+/)).map((word) => word.replace(/[,;:.]+$/, ""));
  return [
    ...wordsOf(quoted).filter(
      (word) => topLevel.test(word) || (sourceEnding.test(word) && /^[\w-][\w./<>*…{}-]*$/.test(word)),
    ),
    ...wordsOf(commands).filter((word) => topLevel.test(word) && /^[\w./-]+$/.test(word)),
  ];
};

export const documentRules: readonly Rule[] = [
  {
    name: "links in documents resolve",
    check: (tree) =>
      filesOf(tree, /\.md$/).flatMap(([path, content]) =>
        [...content.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)]
          .map((match) => normalize(join(dirname(path), match[1] ?? "")).replace(/\/$/, ""))
          .filter(
            (target) =>
              target !== "." && !tree.has(target) && ![...tree.keys()].some((each) => each.startsWith(`${target}/`)),
          )
          .map((target) => ({ path, line: 0, message: `${target} does not exist` })),
      ),
  },
  {
    name: "npm commands in documents exist",
    check: (tree) => {
      const scripts = Object.keys((JSON.parse(tree.get("package.json") ?? "{}") as { scripts?: object }).scripts ?? {});
      return filesOf(tree, /\.md$/).flatMap(([path, content]) =>
        [...content.matchAll(/\bnpm (?:run (?:--?[\w-]+ )*([\w:]+[\w:-]*)|(start|test)\b)/g)]
          .map((match) => match[1] ?? match[2] ?? "")
          .filter((script) => !scripts.includes(script))
          .map((script) => ({ path, line: 0, message: `package.json has no script ${script}` })),
      );
    },
  },
  {
    name: "paths in documents exist",
    check: (tree) =>
      filesOf(tree, /\.md$/).flatMap(([path, content]) =>
        pathsIn(content)
          .filter((word) => {
            const places = [word, join(dirname(path), word), ...(word.includes("/") ? [] : [`*/${word}`])];
            return !places.some((place) => exists(tree, place));
          })
          .map((word) => ({ path, line: 0, message: `${word} does not exist` })),
      ),
  },
  {
    name: "each document has one title",
    check: (tree) =>
      filesOf(tree, /\.md$/)
        .filter(([, content]) => content.replaceAll(/```.*?```/gs, "").match(/^# /gm)?.length !== 1)
        .map(([path]) => ({ path, line: 1, message: "a document has exactly one # title" })),
  },
  {
    name: "decisions have numbers of their own",
    check: (tree) => {
      const notes = filesOf(tree, /^services\/decisions\/\d/);
      const numberOf = (path: string): string => basename(path).slice(0, 4);
      const counts = Map.groupBy(notes, ([path]) => numberOf(path));
      return notes.flatMap(([path, content]) => [
        ...(counts.get(numberOf(path))!.length > 1
          ? [{ path, line: 0, message: "another note has this number; take the next free one" }]
          : []),
        ...(content.startsWith(`# ${numberOf(path)}: `)
          ? []
          : [{ path, line: 1, message: `the title begins with "# ${numberOf(path)}: "` }]),
      ]);
    },
  },
  {
    name: "decisions have 40 lines at most",
    check: (tree) =>
      filesOf(tree, /^services\/decisions\/\d/)
        .filter(([, content]) => content.trimEnd().split("\n").length > noteLinesMax)
        .map(([path]) => ({ path, line: noteLinesMax + 1, message: `a note has ${noteLinesMax} lines at most` })),
  },
];

/** As services/decisions/README.md says. */
const noteLinesMax = 40;
