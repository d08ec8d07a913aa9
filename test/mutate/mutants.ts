import { parseAst } from "rolldown/parseAst";

/** One change of one place in a source file. */
export interface Mutant {
  readonly path: string;
  readonly kind: MutantKind;
  readonly line: number;
  /** The place as it is written, on one line. */
  readonly before: string;
  /** What replaces it. */
  readonly after: string;
  readonly start: number;
  readonly end: number;
  /** The innermost function with a name around the place; empty: the file's first level. */
  readonly inside: string;
  /** Which of the equal changes of its file it is, from 1. */
  readonly occurrence: number;
}

export type MutantKind =
  | "guard removed"
  | "guard negated"
  | "throw dropped"
  | "comparison moved"
  | "and for or"
  | "bound moved"
  | "call dropped";

/** A node of the ESTree that the parser returns, as far as it is read here. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** Calls without a result whose only purpose is that something does not go wrong. */
const guardCalls =
  /^(?:check|verify|refuse|assert|require|throw|guard|validate|destroy|drop|sync|datasync|close|unpin|abort|pause)/;
/** Names of functions that decide something. */
const predicates = /^(?:is|has|can|may|knows|holds|allows|matches|within|meets)(?:[A-Z]|$)/;

/** Every single change of a guard that this file offers, in the order of its text. */
export const mutantsOf = (path: string, source: string): Mutant[] => {
  const found: Mutant[] = [];
  const counts = new Map<string, number>();
  const add = (kind: MutantKind, { start, end }: Node, after: string, inside: string): void => {
    const before = source.slice(start, end).replaceAll(/\s+/g, " ");
    const line = source.slice(0, start).split("\n").length;
    const change = `${kind} ${before} ${after}`;
    const occurrence = (counts.get(change) ?? 0) + 1;
    counts.set(change, occurrence);
    found.push({ path, kind, line, before, after, start, end, inside, occurrence });
  };
  const visit = (node: Node, parents: readonly Node[]): void => {
    for (const [kind, place, after] of changesOf(node, parents, source))
      add(kind, place, after, functionAround(parents));
    for (const child of childrenOf(node)) visit(child, [node, ...parents]);
  };
  visit(parseAst(source, { lang: "ts", astType: "ts" }, path) as unknown as Node, []);
  return found;
};

type Change = readonly [MutantKind, Node, string];

const changesOf = (node: Node, parents: readonly Node[], source: string): Change[] => {
  const text = (each: Node): string => source.slice(each.start, each.end);
  switch (node.type) {
    case "IfStatement": {
      const test = node["test"] as Node;
      if (!isGuard(node)) return [];
      return [
        ["guard removed", test, "false"],
        ["guard negated", test, `!(${text(test)})`],
      ];
    }
    case "ThrowStatement":
      return isOnlyStep(parents) ? [] : [["throw dropped", node, ";"]];
    case "BinaryExpression": {
      const moved = movedComparisons[node["operator"] as string];
      if (moved === undefined || !isDecision(node, parents)) return [];
      const left = node["left"] as Node;
      const right = node["right"] as Node;
      // Parentheses belong to neither side.
      const between = source.slice(left.end, right.start).replace(node["operator"] as string, moved);
      const after = source.slice(node.start, left.end) + between + source.slice(right.start, node.end);
      return [["comparison moved", node, after]];
    }
    case "LogicalExpression": {
      const other = swapped[node["operator"] as string];
      if (other === undefined || !isDecision(node, parents)) return [];
      return [["and for or", node, `(${text(node["left"] as Node)}) ${other} (${text(node["right"] as Node)})`]];
    }
    case "Literal":
      return typeof node["value"] === "number" && isBound(parents) ? [["bound moved", node, `${text(node)} + 1`]] : [];
    case "ExpressionStatement": {
      const expression = node["expression"] as Node;
      const call = expression.type === "AwaitExpression" ? (expression["argument"] as Node) : expression;
      return call.type === "CallExpression" && guardCalls.test(calleeName(call)) ? [["call dropped", node, ";"]] : [];
    }
    default:
      return [];
  }
};

const movedComparisons: Readonly<Record<string, string>> = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" };
const swapped: Readonly<Record<string, string>> = { "&&": "||", "||": "&&" };

/** Whether an `if` refuses: its branch, which may have other steps before, throws or returns nothing, false or null. */
const isGuard = (node: Node): boolean => {
  if (node.type !== "IfStatement" || node["alternate"] !== null) return false;
  const branch = node["consequent"] as Node;
  const last = branch.type === "BlockStatement" ? (branch["body"] as Node[]).at(-1) : branch;
  if (last?.type === "ThrowStatement") return true;
  if (last?.type !== "ReturnStatement") return false;
  const value = last["argument"] as Node | null;
  return value === null || value["name"] === "undefined" || value["value"] === false || value["raw"] === "null";
};

/** Whether a throw is the whole branch of a guard, whose removal is a change already. */
const isOnlyStep = ([parent, grandparent]: readonly Node[]): boolean =>
  parent?.type === "IfStatement" ||
  (parent?.type === "BlockStatement" && grandparent?.type === "IfStatement" && (parent["body"] as Node[]).length === 1);

/** Whether the expression is part of what a guard or a predicate decides by. */
const isDecision = (node: Node, parents: readonly Node[]): boolean => {
  let child = node;
  for (const [index, parent] of parents.entries()) {
    if (parent.type === "IfStatement") return parent["test"] === child && isGuard(parent);
    if (parent.type === "ReturnStatement" || parent.type === "ArrowFunctionExpression")
      return predicates.test(nameOfFunction(parents.slice(index)));
    if (!transparent.has(parent.type)) return false;
    child = parent;
  }
  return false;
};

/** What a part of a condition may be inside of. */
const transparent = new Set(["LogicalExpression", "UnaryExpression", "ParenthesizedExpression", "AwaitExpression"]);

/** The name of the innermost function around a place; empty if it has none. */
const nameOfFunction = (parents: readonly Node[]): string => {
  for (const [index, { type, ...parent }] of parents.entries()) {
    if (type === "FunctionDeclaration" || type === "MethodDefinition") return nameOf(parent["id"] ?? parent["key"]);
    if (type === "VariableDeclarator" && index > 0) return nameOf(parent["id"]);
    if (type === "Property" && index > 0) return nameOf(parent["key"]);
  }
  return "";
};

/** The name under which the engine reports the innermost function around a place that has one. */
const functionAround = (parents: readonly Node[]): string => {
  for (const [index, { type, ...node }] of parents.entries()) {
    if (!functions.has(type)) continue;
    const holder = parents[index + 1];
    const name = nameOf(node["id"] ?? (holder !== undefined && holders.has(holder.type) && nameInHolder(holder)));
    if (name !== "") return name === "constructor" ? "" : name;
  }
  return "";
};

const functions = new Set(["ArrowFunctionExpression", "FunctionExpression", "FunctionDeclaration"]);
const holders = new Set(["VariableDeclarator", "Property", "MethodDefinition", "PropertyDefinition"]);
const nameInHolder = (holder: Node): unknown => holder["id"] ?? holder["key"];

const nameOf = (named: unknown): string => {
  const { type, name } = (named || {}) as { readonly type?: string; readonly name?: string };
  return type === "PrivateIdentifier" ? `#${name}` : (name ?? "");
};

/** Whether a number is what a guard compares with. */
const isBound = ([parent, ...others]: readonly Node[]): boolean =>
  parent?.type === "BinaryExpression" &&
  movedComparisons[parent["operator"] as string] !== undefined &&
  isDecision(parent, others);

const calleeName = (call: Node): string => {
  const callee = call["callee"] as Node;
  return nameOf(callee.type === "MemberExpression" ? callee["property"] : callee);
};

const childrenOf = (node: Node): Node[] =>
  Object.values(node).flatMap((value): Node[] => {
    if (Array.isArray(value)) return value.filter(isNode);
    return isNode(value) ? [value] : [];
  });

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Partial<Node>).type === "string";
