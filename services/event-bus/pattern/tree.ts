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
  readonly laterPaths: ReadonlySet<string>;
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
  return { root: yield* finish(root, new Finishing()), prefixes };
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
  /** Unset: none. */
  children?: Map<string, Map<string, { readonly condition: FieldCondition; readonly draft: Draft }>>;
  readonly ends: number[];
}

const newDraft = (): Draft => ({ ends: [] });

const childOf = (parent: Draft, path: string, condition: FieldCondition): Draft => {
  const children = (parent.children ??= new Map<string, Map<string, { condition: FieldCondition; draft: Draft }>>());
  let byCondition = children.get(path);
  if (byCondition === undefined) children.set(path, (byCondition = new Map()));
  let child = byCondition.get(condition.key);
  if (child === undefined) byCondition.set(condition.key, (child = { condition, draft: newDraft() }));
  return child.draft;
};

const addPrefixes = (prefixes: Set<string>, path: string): void => {
  for (let dot = path.indexOf("."); dot !== -1; dot = path.indexOf(".", dot + 1)) prefixes.add(path.slice(0, dot));
  prefixes.add(path);
};

/** What the nodes of one tree share while it is finished. */
class Finishing {
  #nextId = 0;
  readonly #pathSets = new Map<string, ReadonlySet<string>>();

  nextId(): number {
    return this.#nextId++;
  }

  /** A set of these paths; most nodes of a tree have one of a few sets. */
  shared(paths: ReadonlySet<string>): ReadonlySet<string> {
    const key = JSON.stringify([...paths].toSorted());
    const present = this.#pathSets.get(key);
    if (present === undefined) this.#pathSets.set(key, paths);
    return present ?? paths;
  }
}

/** The parts of all nodes without further conditions; most nodes of a large tree are such. */
const noPaths: ReadonlySet<string> = new Set();
const noIndexes: TreeNode["indexes"] = new Map();
const noAbsences: TreeNode["absences"] = new Map();

function* finish(draft: Draft, finishing: Finishing): Steps<TreeNode> {
  const id = finishing.nextId();
  const { children } = draft;
  if (children === undefined)
    return { id, indexes: noIndexes, absences: noAbsences, ends: draft.ends, laterPaths: noPaths };
  const indexes = new Map<string, LeafIndex<TreeNode>>();
  let absences: Map<string, TreeNode[]> | undefined;
  const paths = new Set(children.keys());
  for (const [path, byCondition] of children) {
    const index = new LeafIndex<TreeNode>();
    const absent: TreeNode[] = [];
    for (const { condition, draft: inner } of byCondition.values()) {
      const child = yield* finish(inner, finishing);
      for (const later of child.laterPaths) paths.add(later);
      index.add(condition, child);
      yield;
      if (condition.alternatives.some((each) => each.kind === "absent")) absent.push(child);
    }
    yield* index.seal();
    indexes.set(path, index);
    if (absent.length > 0) (absences ??= new Map()).set(path, absent);
  }
  return { id, indexes, absences: absences ?? noAbsences, ends: draft.ends, laterPaths: finishing.shared(paths) };
}
