import type { Branch, FieldCondition } from "./condition.ts";
import { ConditionIndex } from "./condition-index.ts";
import { IntegerLists } from "./integer-lists.ts";
import type { Growing } from "./integer-rows.ts";
import { IntegerRows } from "./integer-rows.ts";
import { PairTable } from "./pair-table.ts";
import type { Steps } from "./steps.ts";
import { TextTable } from "./text-table.ts";

const noPaths: ReadonlySet<number> = new Set();

/** Nodes share a set of the paths below them unless these are more. */
const sharedPathsMax = 1_000;

/** About the bytes of memory of one path, and of the objects of a tree: a set of one rule has 8 KB. */
const pathBytes = 150;
const treeBytes = 7_000;

/** The node where every event begins. */
export const rootNode = 0;

/** The lists of a node, one after the other: its fields, its patterns, and the children to which absence leads. */
const fieldList = 0;
const endList = 1;
const absenceList = 2;
const listsOfNode = 3;

/** What is needed only while patterns are added. */
interface Draft {
  /** Different conditions. */
  readonly conditions: TextTable;
  /** Pairs of a field and a condition. */
  readonly edges: PairTable;
  /** The node to which such a pair leads. */
  readonly children: IntegerRows;
  /** A list of these pairs for each node. */
  readonly edgesOf: IntegerLists;
}

/**
 * All branches of all patterns as one tree; branches share equal beginnings. A node is one state of the matcher, in
 * which the conditions on the path to it hold. Its fields lead to further nodes: a field is a node with a path of
 * events on which it has conditions. Nodes, fields and patterns are numbers in arrays, so that a tree of 100,000
 * patterns is a few objects.
 */
export class Tree {
  /** The conditions of the fields, and the nodes to which they lead. */
  readonly conditions = new ConditionIndex();
  /** The numbers of the paths with a condition. */
  readonly #paths = new Map<string, number>();
  readonly #prefixes = new Set<string>();
  readonly #fields = new PairTable();
  readonly #nodes = new IntegerLists();
  /** Of each node the number of the set of the paths below it, and the pattern of all ends at it and below. */
  readonly #below = new IntegerRows(2);
  readonly #laterSets: ReadonlySet<number>[] = [noPaths];
  #draft: Draft | undefined = {
    conditions: new TextTable(),
    edges: new PairTable(),
    children: new IntegerRows(1),
    edgesOf: new IntegerLists(),
  };

  constructor() {
    this.#addNode();
  }

  /** Its parts that grow while patterns are added. */
  get parts(): readonly Growing[] {
    const { conditions, edges, children, edgesOf } = this.#draft ?? {};
    return [
      ...this.conditions.parts,
      ...this.#fields.parts,
      ...this.#nodes.parts,
      this.#below,
      ...(conditions?.parts ?? []),
      ...(edges?.parts ?? []),
      ...(children === undefined ? [] : [children]),
      ...(edgesOf?.parts ?? []),
    ];
  }

  /** The bytes of memory, without what is needed only while patterns are added. */
  get bytes(): number {
    const tables = [this.#fields, this.#nodes, this.#below, this.conditions];
    return tables.reduce((sum, { bytes }) => sum + bytes, treeBytes + this.#prefixes.size * pathBytes);
  }

  /** Whether this is a path with a condition, or a parent of such a path. */
  hasPrefix(path: string): boolean {
    return this.#prefixes.has(path);
  }

  /** The number of a path with a condition; undefined: it has none. */
  pathOf(path: string): number | undefined {
    return this.#paths.get(path);
  }

  /** The number of fields of a node. */
  fieldCount(node: number): number {
    return this.#nodes.count(node * listsOfNode + fieldList);
  }

  /** Whether any node is below this one. */
  leadsOn(node: number): boolean {
    return this.fieldCount(node) > 0 || this.hasAbsences(node);
  }

  /** The field of a node on a path; -1: it has none. */
  fieldOf(node: number, path: number): number {
    return this.#fields.find(node, path);
  }

  /** Calls `found` with the field of a node on each path. */
  eachField(node: number, found: (field: number, path: number) => void): void {
    this.#nodes.each(node * listsOfNode + fieldList, found);
  }

  /** Calls `found` with each pattern whose conditions all hold at the node. */
  eachEnd(node: number, found: (pattern: number) => void): void {
    this.#nodes.each(node * listsOfNode + endList, found);
  }

  /** Whether the absence of a path leads from the node to another one. */
  hasAbsences(node: number): boolean {
    return this.#nodes.count(node * listsOfNode + absenceList) > 0;
  }

  /** Calls `found` with each node to which the absence of a path leads. */
  eachAbsence(node: number, found: (path: number, child: number) => void): void {
    this.#nodes.each(node * listsOfNode + absenceList, found);
  }

  /** Every path with a condition at the node or below. */
  laterPaths(node: number): ReadonlySet<number> {
    return this.#laterSets[this.#below.at(node)] ?? noPaths;
  }

  /** The pattern to which all branches belong that lead through a node; -1: there are several. */
  onlyPattern(node: number): number {
    return this.#below.at(node, 1) - 1;
  }

  /** Adds the branches of a pattern, which is a number that the caller chooses. */
  *add(pattern: number, branches: readonly Branch[]): Steps<void> {
    const draft = this.#draft;
    if (draft === undefined) throw new Error("the tree is complete");
    const uses = usesOf(branches);
    for (const branch of branches) {
      let node = rootNode;
      for (const [path, condition] of orderConditions(branch, uses)) {
        node = this.#childOf(draft, node, path, condition);
        yield;
      }
      this.#nodes.add(node * listsOfNode + endList, pattern);
      this.#below.set(node, 1, joined(this.#below.at(node, 1), pattern + 1));
    }
  }

  /** Completes the tree after the last `add`. */
  *seal(): Steps<void> {
    const draft = this.#draft;
    if (draft === undefined) return;
    yield* this.#seal(rootNode, draft, new Map());
    this.#draft = undefined;
    yield* this.conditions.seal();
    for (const part of [this.#fields, this.#nodes]) {
      yield;
      yield* part.trim();
    }
    yield;
    this.#below.trim();
  }

  #childOf(draft: Draft, node: number, path: string, condition: FieldCondition): number {
    const pathId = this.#paths.get(path) ?? this.#addPath(path);
    const fieldCount = this.#fields.size;
    const field = this.#fields.add(node, pathId);
    if (this.#fields.size > fieldCount) this.#nodes.add(node * listsOfNode + fieldList, field, pathId);
    const edge = draft.edges.add(field, draft.conditions.add(condition.key));
    if (edge < draft.children.length) return draft.children.at(edge);
    const child = this.#addNode();
    draft.children.add(child);
    draft.edgesOf.add(node, edge);
    this.conditions.add(field, condition, child);
    if (condition.alternatives.some(({ kind }) => kind === "absent"))
      this.#nodes.add(node * listsOfNode + absenceList, pathId, child);
    return child;
  }

  #addNode(): number {
    for (let list = 0; list < listsOfNode; list += 1) this.#nodes.addList();
    this.#draft?.edgesOf.addList();
    return this.#below.add(0, unset);
  }

  #addPath(path: string): number {
    for (let dot = path.indexOf("."); dot !== -1; dot = path.indexOf(".", dot + 1))
      this.#prefixes.add(path.slice(0, dot));
    this.#prefixes.add(path);
    const id = this.#paths.size;
    this.#paths.set(path, id);
    return id;
  }

  /** Determines the later paths of a node and of those below it. Nodes with the same paths share a set of them. */
  *#seal(node: number, draft: Draft, setIds: Map<string, number>): Steps<void> {
    const paths = new Set<number>();
    const edges: number[] = [];
    draft.edgesOf.each(node, (edge) => edges.push(edge));
    for (const edge of edges) {
      paths.add(this.#fields.secondOf(draft.edges.firstOf(edge)));
      const child = draft.children.at(edge);
      if (this.fieldCount(child) > 0) yield* this.#seal(child, draft, setIds);
      for (const later of this.laterPaths(child)) paths.add(later);
      this.#below.set(node, 1, joined(this.#below.at(node, 1), this.#below.at(child, 1)));
      yield;
    }
    const key = paths.size > sharedPathsMax ? `node ${node}` : Int32Array.from(paths).toSorted().join();
    let set = setIds.get(key);
    if (set === undefined) setIds.set(key, (set = this.#laterSets.push(paths) - 1));
    this.#below.set(node, 0, set);
  }
}

/** No pattern, and several ones, where otherwise the number of a pattern is, counted from 1. */
const unset = -1;
const several = 0;

const joined = (one: number, other: number): number => {
  if (one === unset || one === other) return other;
  return other === unset ? one : several;
};

/** The member of an event that is an object, so that no array holds more than one of its members. */
const objectMember = "detail.";

/** How many branches of a pattern have each condition. */
type Uses = ReadonlyMap<FieldCondition, number>;

const usesOf = (branches: readonly Branch[]): Uses => {
  const uses = new Map<FieldCondition, number>();
  if (branches.length > 1)
    for (const branch of branches)
      for (const condition of branch.values()) uses.set(condition, (uses.get(condition) ?? 0) + 1);
  return uses;
};

/**
 * Conditions on the paths below one path follow each other, so that the elements of different arrays never multiply:
 * an element is forgotten after the last path that its array holds. Literals come first; of them those that most
 * branches have, because they are one node for all of them, and then those with few alternatives, because they leave
 * the fewest branches. Paths that may be absent come last in their order, because whether one is absent depends on the
 * elements to which smaller paths are bound.
 */
const orderConditions = (branch: Branch, uses: Uses): [string, FieldCondition][] => orderBelow([...branch], 0, uses);

/** Orders conditions whose paths are equal up to an offset. */
const orderBelow = (
  conditions: readonly [string, FieldCondition][],
  offset: number,
  uses: Uses,
): [string, FieldCondition][] => {
  if (conditions.length < 2) return [...conditions];
  const begin = commonEnd(conditions, offset);
  const groups = new Map<string, [string, FieldCondition][]>();
  for (const each of conditions) {
    const name = nameAt(each[0], begin);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [each]);
    else group.push(each);
  }
  return [...groups]
    .map(([name, group]) => ({ name, group, ...rankGroup(group, uses) }))
    .toSorted((a, b) => compareGroups(a, b))
    .flatMap(({ name, group }) => orderBelow(group, begin + name.length, uses));
};

/** Where the last name ends that all paths have in common, with its dot. */
const commonEnd = (conditions: readonly [string, FieldCondition][], offset: number): number => {
  const [first = ""] = conditions[0] ?? [];
  for (let end = offset; ;) {
    const dot = first.indexOf(".", end);
    if (dot === -1) return end;
    const name = first.slice(end, dot + 1);
    if (!conditions.every(([path]) => path.startsWith(name, end))) return end;
    end = dot + 1;
  }
};

/** The next name of a path with a dot; of members of the detail both names. */
const nameAt = (path: string, offset: number): string => {
  const begin = offset === 0 && path.startsWith(objectMember) ? objectMember.length : offset;
  const dot = path.indexOf(".", begin);
  return dot === -1 ? `${path}.`.slice(offset) : path.slice(offset, dot + 1);
};

interface RankedGroup {
  /** The smallest one. */
  readonly path: string;
  readonly least: number;
  readonly greatest: number;
  /** The branches that have all its conditions, or more. */
  readonly uses: number;
}

const rankGroup = (conditions: readonly [string, FieldCondition][], uses: Uses): RankedGroup => {
  let [path, least, greatest, shared] = [conditions[0]?.[0] ?? "", Infinity, 0, Infinity];
  for (const [each, condition] of conditions) {
    const rank = rankOf(condition);
    if (each < path) path = each;
    if (rank < least) least = rank;
    if (rank > greatest) greatest = rank;
    shared = Math.min(shared, uses.get(condition) ?? 1);
  }
  return { path, least, greatest, uses: shared };
};

const compareGroups = (a: RankedGroup, b: RankedGroup): number => {
  const byPath = a.path < b.path ? -1 : Number(a.path > b.path);
  if (a.greatest === rankAbsent && b.greatest === rankAbsent) return byPath;
  return (
    Number(a.greatest === rankAbsent) - Number(b.greatest === rankAbsent) ||
    Number(a.least >= rankOther) - Number(b.least >= rankOther) ||
    b.uses - a.uses ||
    a.least - b.least ||
    a.greatest - b.greatest ||
    byPath
  );
};

const literalKinds = new Set(["text", "address", "number", "number-text", "keyword"]);
const rankOther = 1_000_000;
const rankAbsent = 2_000_000;

const rankOf = ({ alternatives }: FieldCondition): number => {
  if (alternatives.some((each) => each.kind === "absent")) return rankAbsent;
  return alternatives.every((each) => literalKinds.has(each.kind)) ? alternatives.length : rankOther;
};
