import { parse } from "@handlebars/parser";

import { limits } from "../limits.ts";
import type { JsonValue, TextBudget } from "./source-value.ts";
import { memberOf, textOf } from "./source-value.ts";

/** A part of a template. */
type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "value"; readonly of: Expression }
  | {
      readonly kind: "condition";
      readonly of: Expression;
      /** Whether the parts are for a value that is false. */
      readonly isNegated: boolean;
      readonly parts: readonly Part[];
      readonly otherwise: readonly Part[];
    }
  | {
      /** Parts for each element of a value, or for the value itself. */
      readonly kind: "each" | "with";
      readonly of: Expression;
      readonly parts: readonly Part[];
      readonly otherwise: readonly Part[];
    };

/** A constant, or the path to a value. */
type Expression =
  | { readonly constant: string | boolean }
  | {
      /** Where it begins: so many values up from the inner one, or at the object as a whole. */
      readonly from: number | "root";
      readonly names: readonly string[];
    }
  | Fact;

/** What is known of the element, of the loop that is so many loops up. */
interface Fact {
  readonly fact: "index" | "key" | "first" | "last";
  readonly up: number;
}

/** A template that can be filled. */
export type SourceTemplate = readonly Part[];

/** The value that names are looked up in, and what is known of it as an element. */
interface Frame {
  readonly value: JsonValue | undefined;
  readonly outer: Frame | undefined;
  readonly loop: Loop | undefined;
}

interface Loop {
  readonly key: string;
  readonly index: number;
  readonly isLast: boolean;
  readonly outer: Loop | undefined;
}

/** A part of the tree that the parser makes; only what is read here. */
interface Tree {
  readonly type: string;
  readonly value?: unknown;
  readonly path?: Tree;
  readonly params?: readonly Tree[];
  readonly hash?: unknown;
  readonly program?: { readonly body: readonly Tree[]; readonly blockParams?: unknown };
  readonly inverse?: { readonly body: readonly Tree[] };
  readonly parts?: readonly unknown[];
  readonly depth?: number;
  readonly data?: boolean;
  readonly original?: unknown;
}

/** The template has something that is not served here, or leads elsewhere than into the object. */
class UnknownPartError extends Error {
  override readonly name = "UnknownPartError";
}

const noPart = (): never => {
  throw new UnknownPartError();
};

/** What begins a block or an alternative, and what opens a bracket, which can be nested in expressions. */
const nestingPart = /\{\{~?\s*(?:[#^]|else\b)|\(/g;

/**
 * Whether a template has more parts that can be nested than it may have. The time that the parser takes grows with the
 * square of how deep they are nested: 16,000 characters of brackets took seven seconds.
 */
const hasTooManyParts = (text: string): boolean => {
  let count = 0;
  for (const _part of text.matchAll(nestingPart)) if (++count > limits.templatePartsMax) return true;
  return false;
};

/**
 * Reads a template of Handlebars: values by paths below `_source`, constants, `#if`, `#unless`, `#each` and `#with`;
 * with `else`, `this`, `../`, `@root`, `@index`, `@key`, `@first` and `@last`. Undefined: it is none, has other parts,
 * has no expression at all, or more than 50 blocks, alternatives and brackets.
 */
export const readTemplate = (text: string): SourceTemplate | undefined => {
  if (hasTooManyParts(text)) return undefined;
  try {
    const { body } = parse(text) as unknown as { readonly body: readonly Tree[] };
    const parts = readParts(body, { values: 0, loops: 0 });
    return parts.some(({ kind }) => kind !== "text") ? parts : undefined;
  } catch {
    // The parser has errors of its own, and those of texts that it does not expect.
    return undefined;
  }
};

/** How many values and loops are around a part. */
interface Depth {
  readonly values: number;
  readonly loops: number;
}

const readParts = (trees: readonly Tree[], depth: Depth): readonly Part[] =>
  trees.flatMap((tree) => {
    if (tree.type === "CommentStatement") return [];
    if (tree.type === "ContentStatement") return [{ kind: "text", text: String(tree.value) }];
    if (tree.type === "MustacheStatement" && hasNoMore(tree, 0))
      return [{ kind: "value", of: readExpression(tree.path, depth) }];
    return tree.type === "BlockStatement" && hasNoMore(tree, 1) ? [readBlock(tree, depth)] : noPart();
  });

const hasNoMore = ({ params = [], hash, program }: Tree, count: number): boolean =>
  params.length === count && hash === undefined && program?.blockParams === undefined;

const readBlock = ({ path, params = [], program, inverse }: Tree, depth: Depth): Part => {
  const helper = path?.original;
  const of = readExpression(params[0], depth);
  const otherwise = readParts(inverse?.body ?? [], depth);
  const partsAt = (inner: Depth) => readParts(program?.body ?? [], inner);
  if (helper === "if" || helper === "unless")
    return { kind: "condition", of, isNegated: helper === "unless", parts: partsAt(depth), otherwise };
  const { values, loops } = depth;
  if (helper === "with") return { kind: helper, of, parts: partsAt({ values: values + 1, loops }), otherwise };
  return helper === "each"
    ? { kind: helper, of, parts: partsAt({ values: values + 1, loops: loops + 1 }), otherwise }
    : noPart();
};

const facts: ReadonlySet<unknown> = new Set(["index", "key", "first", "last"]);

const readExpression = (tree: Tree | undefined, { values, loops }: Depth): Expression => {
  if (tree?.type === "StringLiteral") return { constant: String(tree.value) };
  if (tree?.type === "NumberLiteral") return { constant: String(tree.original) };
  if (tree?.type === "BooleanLiteral") return { constant: tree.value === true };
  if (tree?.type !== "PathExpression") return noPart();
  const { parts = [], depth = 0, data } = tree;
  if (!parts.every((part) => typeof part === "string")) return noPart();
  const [first, ...rest] = parts;
  if (data !== true) {
    // All values come from the object, and only it is there outside of loops.
    const isAtRoot = depth === values;
    return depth > values || (isAtRoot && first !== "_source") ? noPart() : { from: depth, names: parts };
  }
  if (first === "root") return rest[0] === "_source" && depth === 0 ? { from: "root", names: rest } : noPart();
  return facts.has(first) && rest.length === 0 && depth < loops ? { fact: first as Fact["fact"], up: depth } : noPart();
};

/** What a step costs of the characters that may be composed, so that loops within loops end. */
const stepCharacters = 8;

/** Fills a template from an object. A missing value is left out; so is all that follows when the budget is spent. */
export const fillTemplate = (template: SourceTemplate, object: JsonValue, budget: TextBudget): string => {
  const texts: string[] = [];
  fillParts(template, { value: { _source: object }, outer: undefined, loop: undefined }, budget, texts);
  return texts.join("");
};

const fillParts = (parts: readonly Part[], frame: Frame, budget: TextBudget, texts: string[]): void => {
  for (const part of parts) {
    budget.left -= stepCharacters;
    if (budget.left < 0) return;
    if (part.kind === "text") add(part.text, budget, texts);
    else if (part.kind === "value") add(textOf(valueOf(part.of, frame)) ?? "", budget, texts);
    else fillBlock(part, frame, budget, texts);
  }
};

const add = (text: string, budget: TextBudget, texts: string[]): void => {
  budget.left -= text.length;
  if (budget.left >= 0) texts.push(text);
};

const fillBlock = (
  part: Part & { readonly kind: "condition" | "each" | "with" },
  frame: Frame,
  budget: TextBudget,
  texts: string[],
): void => {
  const value = valueOf(part.of, frame);
  if (part.kind === "condition")
    return fillParts(isTrue(value) === part.isNegated ? part.otherwise : part.parts, frame, budget, texts);
  if (!isTrue(value)) return fillParts(part.otherwise, frame, budget, texts);
  if (part.kind === "with") return fillParts(part.parts, { ...frame, value, outer: frame }, budget, texts);
  const elements = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (elements.length === 0) return fillParts(part.otherwise, frame, budget, texts);
  // Of a loop without parts, or that is cut soon, all elements were listed.
  budget.left -= elements.length * stepCharacters;
  for (const [index, [key, element]] of elements.entries()) {
    if (budget.left < 0) return;
    const loop = { key, index, isLast: index === elements.length - 1, outer: frame.loop };
    fillParts(part.parts, { value: element, outer: frame, loop }, budget, texts);
  }
};

/** Whether a value counts as true, as in Handlebars: the empty text, 0, null, and the empty list do not. */
const isTrue = (value: JsonValue | undefined): boolean => {
  if (value === undefined || value === null || value === false || value === "") return false;
  if (typeof value === "string") return !zero.test(value);
  return !(Array.isArray(value) && value.length === 0);
};

/** Numbers are kept as they were written. */
const zero = /^-?0+(?:\.0+)?(?:[eE][+-]?\d+)?$/;

const valueOf = (of: Expression, frame: Frame): JsonValue | undefined => {
  if ("constant" in of) return of.constant;
  if ("fact" in of) return factOf(of, frame);
  let at: Frame | undefined = frame;
  if (of.from === "root") while (at.outer !== undefined) at = at.outer;
  else for (let up = 0; up < of.from; up += 1) at = at?.outer;
  let value = at?.value;
  for (const name of of.names) value = memberOf(value, name);
  return value;
};

const factOf = ({ fact, up }: Fact, { loop }: Frame): JsonValue | undefined => {
  let at = loop;
  for (let outer = 0; outer < up; outer += 1) at = at?.outer;
  if (at === undefined) return undefined;
  if (fact === "key") return at.key;
  if (fact === "index") return String(at.index);
  return fact === "first" ? at.index === 0 : at.isLast;
};
