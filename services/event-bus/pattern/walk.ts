import type { Leaf } from "./condition.ts";
import type { Binding } from "./binding.ts";
import { bind, bindingKey, boundBefore, leavesAgreeing, noBinding } from "./binding.ts";
import type { FlatEvent, FlatLeaf, Membership } from "./flatten.ts";
import { LeafProbe } from "./leaf-probe.ts";
import type { Steps } from "./steps.ts";
import type { Tree } from "./tree.ts";
import { rootNode } from "./tree.ts";

/**
 * Calls `found` with every pattern of the tree that the event matches, once for each matching branch. A step looks at a
 * few leaves.
 */
export const walkTree = (tree: Tree, event: FlatEvent, found: (pattern: number) => void): Steps<void> =>
  new Walk(tree, event, found).steps();

/** Leaves that one step looks at, each of which may be tested by some conditions of all rules. */
const stepLeavesMax = 4;

/** A node that is still to be visited, with the elements to which it is bound. A binding may be there several times. */
interface Visit {
  readonly node: number;
  readonly bindings: readonly Binding[];
}

const unbound: readonly Binding[] = [noBinding];

/** The leaves of an event on one path. */
interface PathLeaves {
  readonly path: string;
  readonly leaves: readonly FlatLeaf[];
}

/** A field of a node with the leaves of its path. */
interface PresentField {
  readonly field: number;
  readonly at: PathLeaves;
}

/**
 * A node is visited once with all bindings that lead to it, and once without one: they come from the one node above it,
 * and are forgotten after the visit. So a walk remembers few of them, however many elements an event has and however
 * many nodes a tree.
 */
class Walk {
  readonly #tree: Tree;
  readonly #found: (pattern: number) => void;
  #foundPatterns: Set<number> | undefined;
  readonly #find = (pattern: number): void => {
    (this.#foundPatterns ??= new Set()).add(pattern);
    this.#found(pattern);
  };
  /** The leaves of the event by the numbers that the tree gives their paths. */
  readonly #leaves = new Map<number, PathLeaves>();
  readonly #waiting: Visit[] = [{ node: rootNode, bindings: unbound }];
  readonly #probes = new Map<Leaf, LeafProbe>();
  /** The nodes that were entered without a binding. */
  readonly #entered = new Set<number>();
  /** The bindings that lead to the nodes below the visited one. */
  #reached: Map<number, Binding[]> | undefined;
  #keys: WeakMap<Binding, string> | undefined;
  #pathsByArray: Map<number, Set<number>> | undefined;
  /** Where a binding to an array's elements is narrowed to, by the later paths. */
  #narrowed: Map<ReadonlySet<number>, Map<number, Narrowed>> | undefined;
  /** Most conditions of a leaf lead to nodes with the same later paths. */
  #kept: { readonly binding: Binding; readonly later: ReadonlySet<number>; readonly part: Binding } | undefined;
  /** The binding with which the nodes are entered to which the conditions of a leaf lead. */
  #bound: Binding = noBinding;
  readonly #enterBound = (child: number): void => this.#enter(child, this.#bound);

  constructor(tree: Tree, event: FlatEvent, found: (pattern: number) => void) {
    this.#tree = tree;
    this.#found = found;
    for (const [path, leaves] of event) {
      const id = tree.pathOf(path);
      if (id !== undefined) this.#leaves.set(id, { path, leaves });
    }
  }

  *steps(): Steps<void> {
    let looked = 0;
    for (let visit = this.#waiting.pop(); visit !== undefined; visit = this.#waiting.pop()) {
      const { node } = visit;
      this.#tree.eachEnd(node, this.#find);
      const fields = this.#fieldsOf(node);
      const hasAbsences = this.#tree.hasAbsences(node);
      const seen = visit.bindings.length > 1 ? new Set<string>() : undefined;
      for (const binding of visit.bindings) {
        looked += 1;
        if (looked % stepLeavesMax === 0) yield;
        if (this.#isFound(node)) break;
        if (seen !== undefined && seen.size === seen.add(this.#keyOf(binding)).size) continue;
        for (const { field, at } of fields)
          for (const { leaf, membership } of this.#compatible(at.path, at.leaves, binding)) {
            looked += 1;
            if (looked % stepLeavesMax === 0) yield;
            const bound = bind(binding, at.path, membership);
            if (bound === undefined) continue;
            this.#bound = bound;
            this.#tree.conditions.find(field, this.#probeOf(leaf), this.#enterBound);
          }
        if (hasAbsences)
          this.#tree.eachAbsence(node, (path, child) => {
            if (this.#isAbsent(path, binding)) this.#enter(child, binding);
          });
      }
      if (this.#reached === undefined) continue;
      for (const [child, bindings] of this.#reached) this.#waiting.push({ node: child, bindings });
      this.#reached = undefined;
    }
  }

  /** Whether all branches through a node belong to a pattern that was found. */
  #isFound(node: number): boolean {
    return this.#foundPatterns?.has(this.#tree.onlyPattern(node)) ?? false;
  }

  #enter(node: number, binding: Binding): void {
    if (this.#isFound(node)) return;
    if (!this.#tree.leadsOn(node)) return this.#tree.eachEnd(node, this.#find);
    const kept = binding.length === 0 ? binding : this.#relevantPart(node, binding);
    if (kept.length === 0) {
      const count = this.#entered.size;
      if (this.#entered.add(node).size > count) this.#waiting.push({ node, bindings: unbound });
      return;
    }
    this.#reached ??= new Map();
    const bindings = this.#reached.get(node);
    if (bindings === undefined) this.#reached.set(node, [kept]);
    // Those of one element follow each other.
    else if (bindings.at(-1) !== kept) bindings.push(kept);
  }

  #keyOf(binding: Binding): string {
    if (binding.length === 0) return "";
    this.#keys ??= new WeakMap();
    let key = this.#keys.get(binding);
    if (key === undefined) this.#keys.set(binding, (key = bindingKey(binding)));
    return key;
  }

  /** The fields of a node of which the event has leaves. */
  #fieldsOf(node: number): PresentField[] {
    const fields: PresentField[] = [];
    if (this.#tree.fieldCount(node) === 0) return fields;
    const add = (field: number, pathId: number): void => {
      const at = this.#leaves.get(pathId);
      if (field !== -1 && at !== undefined) fields.push({ field, at });
    };
    if (this.#tree.fieldCount(node) > this.#leaves.size)
      for (const path of this.#leaves.keys()) add(this.#tree.fieldOf(node, path), path);
    else this.#tree.eachField(node, add);
    return fields;
  }

  #probeOf(leaf: Leaf): LeafProbe {
    const present = this.#probes.get(leaf);
    if (present !== undefined) return present;
    const probe = new LeafProbe(leaf, this.#tree.conditions.texts);
    this.#probes.set(leaf, probe);
    return probe;
  }

  /** Leaves elements out whose array holds no leaf of a later path, and keeps those that hold them. */
  #relevantPart(node: number, binding: Binding): Binding {
    const later = this.#tree.laterPaths(node);
    if (this.#kept?.binding === binding && this.#kept.later === later) return this.#kept.part;
    let kept: Binding = noBinding;
    let isSame = true;
    for (const { element, path } of binding) {
      const at = this.#narrow(element, later);
      isSame &&= at === element;
      kept = bind(kept, path, at) ?? kept;
    }
    const part = isSame ? binding : kept;
    this.#kept = { binding, later, part };
    return part;
  }

  /** The innermost element around this one, or itself, whose array holds a leaf of a later path. */
  #narrow(element: Membership, later: ReadonlySet<number>): Membership | undefined {
    this.#narrowed ??= new Map();
    let known = this.#narrowed.get(later);
    if (known === undefined) this.#narrowed.set(later, (known = new Map()));
    const passed: number[] = [];
    let at: Membership | undefined = element;
    while (at !== undefined) {
      const { id } = at.array;
      let narrowed = known.get(id);
      if (narrowed === undefined && this.#pathsIn(id).isDisjointFrom(later)) {
        passed.push(id);
        at = at.outer;
        continue;
      }
      if (narrowed === undefined) known.set(id, (narrowed = { isKept: true, around: undefined }));
      if (!narrowed.isKept) at = narrowed.around;
      break;
    }
    for (const id of passed) known.set(id, { isKept: false, around: at });
    return at;
  }

  #pathsIn(array: number): ReadonlySet<number> {
    if (this.#pathsByArray === undefined) {
      this.#pathsByArray = new Map();
      for (const [path, { leaves }] of this.#leaves)
        for (const { membership } of leaves)
          for (let at = membership; at !== undefined; at = at.outer) {
            let paths = this.#pathsByArray.get(at.array.id);
            if (paths === undefined) this.#pathsByArray.set(at.array.id, (paths = new Set()));
            // What an array holds, those around it hold too.
            if (paths.has(path)) break;
            paths.add(path);
          }
    }
    return this.#pathsByArray.get(array) ?? noPaths;
  }

  /**
   * Whether a path is absent in the array elements to which fields with smaller names are bound; in the whole event if
   * none is bound.
   */
  #isAbsent(pathId: number, binding: Binding): boolean {
    const present = this.#leaves.get(pathId);
    if (present === undefined) return true;
    const { path, leaves } = present;
    const before = boundBefore(binding, path);
    for (const { membership } of this.#compatible(path, leaves, before))
      if (bind(before, path, membership) !== undefined) return false;
    return true;
  }

  /** The leaves that may be compatible with the binding. Of many leaves, those of other elements are left out. */
  #compatible(path: string, leaves: readonly FlatLeaf[], binding: Binding): Iterable<FlatLeaf> {
    if (leaves.length <= 8) return leaves;
    const first = leaves[0]?.number ?? 0;
    const last = leaves.at(-1)?.number ?? 0;
    let deepest: Membership | undefined;
    for (const { element } of binding)
      if (element.array.begin <= last && first < element.array.end && element.depth >= (deepest?.depth ?? 0))
        deepest = element;
    return deepest === undefined ? leaves : leavesAgreeing(path, leaves, deepest);
  }
}

/** Whether a binding to an element of an array is kept, and the element around the array to which it is narrowed. */
interface Narrowed {
  readonly isKept: boolean;
  readonly around: Membership | undefined;
}

const noPaths: ReadonlySet<number> = new Set();
