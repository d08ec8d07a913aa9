import type { Branch, FieldCondition } from "./condition.ts";
import { LeafIndex } from "./leaf-index.ts";
import type { Steps } from "./steps.ts";

/**
 * One state of the matcher, in which the conditions on the path to it hold. `indexes` lead to further nodes by a leaf
 * that exists, `absences` by one that does not. `ends` are the patterns whose conditions all hold here.
 */
export interface TreeNode {
  readonly id: number;
  readonly indexes: ReadonlyMap<string, LeafIndex<TreeNode>>;
  readonly absences: ReadonlyMap<string, readonly TreeNode[]>;
  readonly ends: readonly number[];
  /** Every path with a condition at this node or below. */
  readonly laterPaths: () => ReadonlySet<string>;
}

/** All branches of all patterns as one tree; branches share equal beginnings. */
export interface Tree {
  readonly root: TreeNode;
  /** Every path with a condition, and every parent of such a path. */
  readonly prefixes: ReadonlySet<string>;
}

/** Builds the tree. A pattern is identified by its index in the list. */
export function* buildTree(patterns: readonly (readonly Branch[])[]): Steps<Tree> {
  const root = newDraft();
  const prefixes = new Set<string>();
  for (const [pattern, branches] of patterns.entries())
    for (const branch of branches) {
      let draft = root;
      for (const [path, condition] of orderConditions(branch)) {
        addPrefixes(prefixes, path);
        draft = childOf(draft, path, condition);
      }
      draft.ends.push(pattern);
      yield;
    }
  let id = 0;
  return { root: yield* finish(root, () => id++), prefixes };
}

/**
 * Conditions with few literals come first, because they leave the fewest branches. Conditions that absence may meet
 * come last, because their result depends on the array elements to which the others are bound.
 */
const orderConditions = (branch: Branch): [string, FieldCondition][] =>
  [...branch].toSorted(
    ([pathA, a], [pathB, b]) => rankOf(a) - rankOf(b) || (pathA < pathB ? -1 : Number(pathA > pathB)),
  );

const literalKinds = new Set(["text", "address", "number", "number-text", "keyword"]);
const rankOther = 1_000_000;
const rankAbsent = 2_000_000;

const rankOf = ({ alternatives }: FieldCondition): number => {
  if (alternatives.some((each) => each.kind === "absent")) return rankAbsent;
  return alternatives.every((each) => literalKinds.has(each.kind)) ? alternatives.length : rankOther;
};

interface Draft {
  readonly children: Map<string, Map<string, { readonly condition: FieldCondition; readonly draft: Draft }>>;
  readonly ends: number[];
}

const newDraft = (): Draft => ({ children: new Map(), ends: [] });

const childOf = (parent: Draft, path: string, condition: FieldCondition): Draft => {
  let byCondition = parent.children.get(path);
  if (byCondition === undefined) parent.children.set(path, (byCondition = new Map()));
  let child = byCondition.get(condition.key);
  if (child === undefined) byCondition.set(condition.key, (child = { condition, draft: newDraft() }));
  return child.draft;
};

const addPrefixes = (prefixes: Set<string>, path: string): void => {
  for (let dot = path.indexOf("."); dot !== -1; dot = path.indexOf(".", dot + 1)) prefixes.add(path.slice(0, dot));
  prefixes.add(path);
};

function* finish(draft: Draft, nextId: () => number): Steps<TreeNode> {
  const id = nextId();
  const indexes = new Map<string, LeafIndex<TreeNode>>();
  const absences = new Map<string, TreeNode[]>();
  const children: TreeNode[] = [];
  for (const [path, byCondition] of draft.children) {
    const index = new LeafIndex<TreeNode>();
    const absent: TreeNode[] = [];
    for (const { condition, draft: inner } of byCondition.values()) {
      const child = yield* finish(inner, nextId);
      children.push(child);
      index.add(condition, child);
      yield;
      if (condition.alternatives.some((each) => each.kind === "absent")) absent.push(child);
    }
    yield* index.seal();
    indexes.set(path, index);
    if (absent.length > 0) absences.set(path, absent);
  }
  let later: ReadonlySet<string> | undefined;
  const laterPaths = (): ReadonlySet<string> =>
    (later ??= new Set([...draft.children.keys(), ...children.flatMap((child) => [...child.laterPaths()])]));
  return { id, indexes, absences, ends: draft.ends, laterPaths };
}
