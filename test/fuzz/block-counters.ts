import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

import { parseAst } from "rolldown/parseAst";

/** Counts how often each block of the sources has run since the last reset. */
export interface BlockCounters {
  /** One counter for each block, modulo 256. */
  readonly counts: Uint8Array;
  /** How many blocks the loaded sources have. */
  readonly size: () => number;
  /** The short text literals of the loaded sources. */
  readonly literals: Set<string>;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const blocksMax = 1 << 16;

/**
 * Counts the blocks of all TypeScript files, and of CommonJS ones, below these folders that are imported from now on:
 * bodies of functions, branches, loops, cases, and the parts of conditional and logical expressions.
 */
export const countBlocks = (folders: readonly string[]): BlockCounters => {
  const counts = new Uint8Array(blocksMax);
  const literals = new Set<string>();
  let size = 0;
  const next = (): number => {
    if (size === blocksMax) throw new Error("the sources have more blocks than there are counters");
    return size++;
  };
  (globalThis as unknown as Record<string, unknown>)["quartetBlocks"] = counts;
  registerHooks({
    load(url, context, nextLoad) {
      const isCounted = /\.[jt]s$/.test(url) && folders.some((folder) => url.startsWith(folder));
      if (!isCounted) return nextLoad(url, context);
      const source = withCounters(readFileSync(fileURLToPath(url), "utf8"), url, next, literals);
      return { format: url.endsWith(".js") ? "commonjs" : "module-typescript", source, shortCircuit: true };
    },
  });
  return { counts, size: () => size, literals };
};

/** The source with a counter at the beginning of each block. Lines keep their numbers. */
const withCounters = (source: string, url: string, next: () => number, literals: Set<string>): string => {
  const insertions: { readonly at: number; readonly text: string }[] = [];
  const insert = (at: number, text: string): void => void insertions.push({ at, text });
  const visit = (node: Node): void => {
    const closing: (readonly [at: number, text: string])[] = [];
    const count = (): string => `$blocks[${next()}]++`;
    const wrap = (expression: Node): void => {
      insert(expression.start, `(${count()}, (`);
      closing.push([expression.end, "))"]);
    };
    const enter = (statement: Node | null): void => {
      if (statement === null) return;
      if (statement.type === "BlockStatement") insert(statement.start + 1, `${count()};`);
      else {
        insert(statement.start, `{${count()};`);
        closing.push([statement.end, "}"]);
      }
    };
    switch (node.type) {
      case "FunctionDeclaration":
      case "FunctionExpression":
        enter(node["body"] as Node | null);
        break;
      case "ArrowFunctionExpression": {
        const body = node["body"] as Node;
        if (body.type === "BlockStatement") enter(body);
        else wrap(body);
        break;
      }
      case "IfStatement":
        enter(node["consequent"] as Node);
        enter(node["alternate"] as Node | null);
        break;
      case "ForStatement":
      case "ForOfStatement":
      case "ForInStatement":
      case "WhileStatement":
      case "DoWhileStatement":
      case "CatchClause":
        enter(node["body"] as Node);
        break;
      case "SwitchCase": {
        const [first] = node["consequent"] as Node[];
        if (first !== undefined) insert(first.start, `${count()};`);
        break;
      }
      case "ConditionalExpression":
        wrap(node["consequent"] as Node);
        wrap(node["alternate"] as Node);
        break;
      case "LogicalExpression":
        wrap(node["right"] as Node);
        break;
      case "Literal": {
        const value = node["value"];
        if (typeof value === "string" && value.length > 0 && value.length <= 24) literals.add(value);
        break;
      }
      default:
    }
    for (const child of childrenOf(node)) visit(child);
    for (const [at, text] of closing) insert(at, text);
  };
  visit(parseAst(source, { lang: "ts", astType: "ts" }, url) as unknown as Node);
  let written = "const $blocks = globalThis.quartetBlocks;";
  let from = 0;
  for (const { at, text } of insertions.toSorted((a, b) => a.at - b.at)) {
    written += source.slice(from, at) + text;
    from = at;
  }
  return written + source.slice(from);
};

const childrenOf = (node: Node): Node[] =>
  Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value]))
    .filter(
      (value): value is Node => typeof value === "object" && value !== null && "type" in value && "start" in value,
    );
