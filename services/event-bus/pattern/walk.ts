import type { FlatEvent, FlatLeaf, Membership } from "./flatten.ts";
import type { Tree, TreeNode } from "./tree.ts";

/** Calls `found` with every pattern of the tree that the event matches, once for each matching branch. */
export const walkTree = (tree: Tree, event: FlatEvent, found: (pattern: number) => void): void => {
  new Walk(event, found).visit(tree.root, noBinding);
};

/** The array elements that hold the leaves met so far, and of each the smallest path that bound it. */
type Binding = ReadonlyMap<number, { readonly index: number; readonly path: string }>;

const noBinding: Binding = new Map();

class Walk {
  readonly #event: FlatEvent;
  readonly #found: (pattern: number) => void;
  readonly #visited = new Map<TreeNode, Set<string>>();
  readonly #byElement = new Map<string, ElementIndex>();

  constructor(event: FlatEvent, found: (pattern: number) => void) {
    this.#event = event;
    this.#found = found;
  }

  visit(node: TreeNode, binding: Binding): void {
    const kept = binding.size === 0 ? binding : this.#relevantPart(node, binding);
    if (!this.#isFirstVisit(node, kept)) return;
    node.ends.forEach(this.#found);
    if (node.indexes.size <= this.#event.size)
      for (const path of node.indexes.keys()) this.#follow(node, path, this.#event.get(path), kept);
    else for (const [path, leaves] of this.#event) this.#follow(node, path, leaves, kept);
    for (const [path, children] of node.absences)
      if (this.#isAbsent(path, kept)) for (const child of children) this.visit(child, kept);
  }

  #follow(node: TreeNode, path: string, leaves: readonly FlatLeaf[] | undefined, binding: Binding): void {
    const index = node.indexes.get(path);
    if (index === undefined || leaves === undefined) return;
    for (const { leaf, membership } of this.#compatible(path, leaves, binding)) {
      const bound = bind(binding, path, membership);
      if (bound !== undefined) index.find(leaf, (child) => this.visit(child, bound));
    }
  }

  /** A node is visited once for each binding that can still matter. */
  #isFirstVisit(node: TreeNode, binding: Binding): boolean {
    const key = binding.size === 0 ? "" : [...binding].map(([array, at]) => `${array}:${at.index}:${at.path}`).join();
    const seen = this.#visited.get(node);
    if (seen === undefined) {
      this.#visited.set(node, new Set([key]));
      return true;
    }
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  }

  /** Removes arrays that hold no leaf of a later path. */
  #relevantPart(node: TreeNode, binding: Binding): Binding {
    const later = node.laterPaths;
    const kept = [...binding].filter(([array]) => this.#pathsIn(array).some((path) => later.has(path)));
    return kept.length === binding.size ? binding : new Map(kept);
  }

  readonly #pathsByArray = new Map<number, string[]>();

  #pathsIn(array: number): readonly string[] {
    if (this.#pathsByArray.size === 0)
      for (const [path, leaves] of this.#event)
        for (const { membership } of leaves)
          for (let at = membership; at !== undefined; at = at.outer) {
            const paths = this.#pathsByArray.get(at.array) ?? [];
            if (!paths.includes(path)) this.#pathsByArray.set(at.array, [...paths, path]);
          }
    return this.#pathsByArray.get(array) ?? [];
  }

  /**
   * Whether a path is absent in the array elements to which fields with smaller names are bound; in the whole event if
   * none is bound.
   */
  #isAbsent(path: string, binding: Binding): boolean {
    const leaves = this.#event.get(path);
    if (leaves === undefined) return true;
    const before = new Map([...binding].filter(([, at]) => at.path < path));
    return !this.#compatible(path, leaves, before).some(
      ({ membership }) => bind(before, path, membership) !== undefined,
    );
  }

  /** The leaves that may be compatible with the binding. Of many leaves, those of other elements are left out. */
  #compatible(path: string, leaves: readonly FlatLeaf[], binding: Binding): readonly FlatLeaf[] {
    if (binding.size === 0 || leaves.length <= 8) return leaves;
    let index = this.#byElement.get(path);
    if (index === undefined) this.#byElement.set(path, (index = indexByElement(leaves)));
    let best = leaves;
    for (const [array, { index: element }] of binding) {
      const inArray = index.get(array);
      if (inArray === undefined) continue;
      const inElement = inArray.inside.get(element) ?? [];
      if (inElement.length + inArray.outside.length < best.length) best = [...inElement, ...inArray.outside];
    }
    return best;
  }
}

/** Adds a leaf's array elements to a binding; undefined if they contradict it. */
const bind = (binding: Binding, path: string, membership: Membership | undefined): Binding | undefined => {
  let bound: Map<number, { index: number; path: string }> | undefined;
  for (let at = membership; at !== undefined; at = at.outer) {
    const present = binding.get(at.array);
    if (present === undefined) (bound ??= new Map(binding)).set(at.array, { index: at.index, path });
    else if (present.index !== at.index) return undefined;
    else if (path < present.path) (bound ??= new Map(binding)).set(at.array, { index: at.index, path });
  }
  return bound ?? binding;
};

type ElementIndex = ReadonlyMap<number, { readonly inside: Map<number, FlatLeaf[]>; readonly outside: FlatLeaf[] }>;

/** The leaves of one path by the arrays that hold them; `outside` are those that an array does not hold. */
const indexByElement = (leaves: readonly FlatLeaf[]): ElementIndex => {
  const arrays = new Map<number, { inside: Map<number, FlatLeaf[]>; outside: FlatLeaf[] }>();
  const insideOf = new Map<number, Set<FlatLeaf>>();
  for (const leaf of leaves)
    for (let at = leaf.membership; at !== undefined; at = at.outer) {
      let found = arrays.get(at.array);
      if (found === undefined) arrays.set(at.array, (found = { inside: new Map(), outside: [] }));
      const element = found.inside.get(at.index);
      if (element === undefined) found.inside.set(at.index, [leaf]);
      else element.push(leaf);
      const members = insideOf.get(at.array) ?? new Set();
      insideOf.set(at.array, members.add(leaf));
    }
  for (const [array, found] of arrays) {
    const members = insideOf.get(array);
    if (members?.size !== leaves.length) found.outside.push(...leaves.filter((leaf) => members?.has(leaf) !== true));
  }
  return arrays;
};
