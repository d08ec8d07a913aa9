import { commentsOf } from "../comments.ts";
import type { Rule } from "../rule.ts";
import { code } from "../rule.ts";
import { filesOf, findLines } from "../tree.ts";

const columnsMax = 120;

/** Words that the documents of the services use and the kit does not, neither in code nor in comments. */
const domainWords =
  /\b(?:buckets?|object[- ]storage|event[- ]bus(?:es)?|customer[- ]profiles?|refactoring[- ]workspaces?|delete markers?|multipart uploads?|API destinations?|profileId|eventBus|objectStorage|putEvents|putObject)\b|NO_SUCH_BUCKET/i;

/** Words of a private idiom, with those of the field. */
const idioms: ReadonlyArray<readonly [word: RegExp, better: string]> = [
  [/\banew\b/i, "again"],
  [/\bjudg(?:e|es|ed|ement)\b/i, "check, decide or evaluate"],
];

export const commentRules: readonly Rule[] = [
  {
    name: "nothing is left for later without a condition",
    check: (tree) =>
      findLines(
        filesOf(tree, /^(?:services|gateway|test|proto)\/.*\.(?:ts|proto|py|sh)$/).filter(
          ([path]) => !path.startsWith("test/tidy/"),
        ),
        /\b(?:TODO(?!\([^)]+\))|FIXME|XXX|HACK)\b|\bfor now\b|\bnot (?:yet )?implemented yet\b/,
        "do it, or leave it out and say so where readers look",
      ),
  },
  {
    name: "a skipped or focused test gives its reason",
    check: (tree) =>
      findLines(
        filesOf(tree, /^test\/.*\.ts$/).filter(([path]) => !path.startsWith("test/tidy/")),
        /\.(?:skip|only|todo)\(/,
        "say why on the same line: // reason: …",
        /\/\/ reason: \S/,
      ),
  },
  {
    name: "an exemption from lint or types gives its reason",
    check: (tree) =>
      findLines(
        filesOf(tree, code).filter(([path]) => !path.startsWith("test/tidy/")),
        /@ts-(?:ignore|expect-error|nocheck)|(?:ox|es)lint-disable/,
        "say why after --",
        /-- \S/,
      ),
  },
  {
    name: "comments are at most 120 columns wide",
    check: (tree) =>
      filesOf(tree, /^(?:(?:services|gateway|test)\/.*\.ts|proto\/.*\.proto)$/).flatMap(([path, content]) =>
        commentsOf(content)
          .filter(({ whole, text }) => whole.length > columnsMax && !/https?:\/\/\S+/.test(text))
          .map(({ line, whole }) => ({
            path,
            line,
            message: `${whole.length} columns; the formatter wraps no comments`,
          })),
      ),
  },
  {
    name: "the kit holds no domain word",
    check: (tree) =>
      findLines(
        // A histogram has buckets of its own.
        filesOf(tree, /^services\/kit\/(?!metrics\/).*\.ts$/),
        domainWords,
        "say it without the service's noun",
      ),
  },
  {
    name: "comments use the words of the field",
    check: (tree) =>
      filesOf(tree, /^(?:(?:services|gateway)\/.*\.ts|proto\/.*\.proto)$/).flatMap(([path, content]) =>
        commentsOf(content).flatMap(({ line, text }) =>
          idioms
            .filter(([word]) => word.test(text))
            .map(([word, better]) => ({ path, line, message: `for ${word.exec(text)?.[0]} say ${better}` })),
        ),
      ),
  },
];
