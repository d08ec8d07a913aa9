import type { Leaf } from "./condition.ts";
import type { FlatEvent, FlatLeaf, Membership } from "./flatten.ts";
import { LeafProbe } from "./leaf-probe.ts";
import type { Tree } from "./tree.ts";
import { rootNode } from "./tree.ts";

/** Calls `found` with every pattern of the tree that the event matches, once for each matching branch. */
export const walkTree = (tree: Tree, event: FlatEvent, found: (pattern: number) => void): void => {
  new Walk(tree, event, found).visit(rootNode, noBinding);
};

/** The array elements that hold the leaves met so far, and of each the smallest path that bound it. */
type Binding = ReadonlyMap<number, { readonly index: number; readonly path: string }>;

const noBinding: Binding = new Map();

class Walk {
  readonly #tree: Tree;
  readonly #found: (pattern: number) => void;
  /** The leaves of the event by the numbers that the tree gives their paths. */
  readonly #leaves = new Map<number, { readonly path: string; readonly leaves: readonly FlatLeaf[] }>();
  readonly #probes = new Map<Leaf, LeafProbe>();
  readonly #visited = new Set<number>();
  #visitedBound: Map<number, Set<string>> | undefined;
  #byElement: Map<string, ElementIndex> | undefined;
  #pathsByArray: Map<number, number[]> | undefined;

  constructor(tree: Tree, event: FlatEvent, found: (pattern: number) => void) {
    this.#tree = tree;
    this.#found = found;
    for (const [path, leaves] of event) {
      const id = tree.pathOf(path);
      if (id !== undefined) this.#leaves.set(id, { path, leaves });
    }
  }

  visit(node: number, binding: Binding): void {
    const kept = binding.size === 0 ? binding : this.#relevantPart(node, binding);
    if (!this.#isFirstVisit(node, kept)) return;
    this.#tree.eachEnd(node, this.#found);
    if (this.#tree.fieldCount(node) > this.#leaves.size)
      for (const path of this.#leaves.keys()) this.#follow(this.#tree.fieldOf(node, path), path, kept);
    else this.#tree.eachField(node, (field, path) => this.#follow(field, path, kept));
    this.#tree.eachAbsence(node, (path, child) => {
      if (this.#isAbsent(path, kept)) this.visit(child, kept);
    });
  }

  #follow(field: number, pathId: number, binding: Binding): void {
    const present = this.#leaves.get(pathId);
    if (field === -1 || present === undefined) return;
    const { path, leaves } = present;
    for (const { leaf, membership } of this.#compatible(path, leaves, binding)) {
      const bound = bind(binding, path, membership);
      if (bound !== undefined)
        this.#tree.conditions.find(field, this.#probeOf(leaf), (child) => this.visit(child, bound));
    }
  }

  #probeOf(leaf: Leaf): LeafProbe {
    const present = this.#probes.get(leaf);
    if (present !== undefined) return present;
    const probe = new LeafProbe(leaf, this.#tree.conditions.texts);
    this.#probes.set(leaf, probe);
    return probe;
  }

  /** A node is visited once for each binding that can still matter. */
  #isFirstVisit(node: number, binding: Binding): boolean {
    if (binding.size === 0) {
      const count = this.#visited.size;
      return this.#visited.add(node).size > count;
    }
    const key = [...binding].map(([array, at]) => `${array}:${at.index}:${at.path}`).join();
    this.#visitedBound ??= new Map();
    const seen = this.#visitedBound.get(node);
    if (seen === undefined) {
      this.#visitedBound.set(node, new Set([key]));
      return true;
    }
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  }

  /** Removes arrays that hold no leaf of a later path. */
  #relevantPart(node: number, binding: Binding): Binding {
    const later = this.#tree.laterPaths(node);
    const kept = [...binding].filter(([array]) => this.#pathsIn(array).some((path) => later.has(path)));
    return kept.length === binding.size ? binding : new Map(kept);
  }

  #pathsIn(array: number): readonly number[] {
    if (this.#pathsByArray === undefined) {
      this.#pathsByArray = new Map();
      for (const [path, { leaves }] of this.#leaves)
        for (const { membership } of leaves)
          for (let at = membership; at !== undefined; at = at.outer) {
            const paths = this.#pathsByArray.get(at.array) ?? [];
            if (!paths.includes(path)) this.#pathsByArray.set(at.array, [...paths, path]);
          }
    }
    return this.#pathsByArray.get(array) ?? [];
  }

  /**
   * Whether a path is absent in the array elements to which fields with smaller names are bound; in the whole event if
   * none is bound.
   */
  #isAbsent(pathId: number, binding: Binding): boolean {
    const present = this.#leaves.get(pathId);
    if (present === undefined) return true;
    const { path, leaves } = present;
    const before = new Map([...binding].filter(([, at]) => at.path < path));
    return !this.#compatible(path, leaves, before).some(
      ({ membership }) => bind(before, path, membership) !== undefined,
    );
  }

  /** The leaves that may be compatible with the binding. Of many leaves, those of other elements are left out. */
  #compatible(path: string, leaves: readonly FlatLeaf[], binding: Binding): readonly FlatLeaf[] {
    if (binding.size === 0 || leaves.length <= 8) return leaves;
    this.#byElement ??= new Map();
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
