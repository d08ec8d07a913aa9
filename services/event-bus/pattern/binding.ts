import type { FlatLeaf, Membership } from "./flatten.ts";

/** An array element that holds a leaf which met a condition, and the path of the leaf. */
interface Anchor {
  readonly element: Membership;
  readonly path: string;
}

/**
 * The array elements that hold the leaves met so far. An element is bound with all that hold it, so only the innermost
 * ones are listed, and others with a smaller path.
 */
export type Binding = readonly Anchor[];

export const noBinding: Binding = [];

/** Adds the elements that hold a leaf to a binding; undefined if they contradict it. */
export const bind = (binding: Binding, path: string, element: Membership | undefined): Binding | undefined => {
  if (element === undefined) return binding;
  let isBound = false;
  for (const anchor of binding) {
    if (!agree(anchor.element, element)) return undefined;
    isBound ||= anchor.path <= path && isWithin(anchor.element, element);
  }
  if (isBound) return binding;
  const others = binding.filter((each) => path > each.path || !isWithin(element, each.element));
  return [...others, { element, path }];
};

/** The part of a binding that smaller paths have bound. */
export const boundBefore = (binding: Binding, path: string): Binding => binding.filter((each) => each.path < path);

/** The same text for equal bindings. */
export const bindingKey = (binding: Binding): string =>
  binding
    .map(({ element, path }) => `${element.array.id}:${element.index}:${path}`)
    .toSorted()
    .join();

/** Whether two elements can hold the leaves of one match: they are not different elements of one array. */
const agree = (one: Membership, other: Membership): boolean => {
  let [a, b]: (Membership | undefined)[] = [one, other];
  while (a !== undefined && a.depth > other.depth) a = a.outer;
  while (b !== undefined && b.depth > one.depth) b = b.outer;
  for (; a !== b; a = a?.outer, b = b?.outer) if (a?.array === b?.array) return false;
  return true;
};

/** Whether an element is another one or in it. */
const isWithin = (inner: Membership, outer: Membership): boolean => {
  let at: Membership | undefined = inner;
  while (at !== undefined && at.depth > outer.depth) at = at.outer;
  return at === outer;
};

/**
 * The leaves of one path that an element does not contradict: those in it, and those around the arrays in which it is.
 * The leaves are given in document order.
 */
export function* leavesAgreeing(
  path: string,
  leaves: readonly FlatLeaf[],
  element: Membership,
): Generator<FlatLeaf, void> {
  const first = leaves[0]?.number ?? 0;
  const last = leaves.at(-1)?.number ?? 0;
  yield* between(leaves, element.begin, element.end);
  for (let at: Membership | undefined = element; at !== undefined; at = at.outer) {
    if (at.begin <= first && last < at.end) return;
    const { array, outer } = at;
    yield* between(leaves, outer?.begin ?? 0, array.begin);
    yield* between(leaves, array.end, outer?.end ?? Infinity);
    if (array.path !== path) continue;
    for (let run = 0; run < array.literals.length; run += 2)
      yield* between(leaves, array.literals[run] ?? 0, array.literals[run + 1] ?? 0);
  }
}

/** The leaves whose numbers are in a range. */
function* between(leaves: readonly FlatLeaf[], begin: number, end: number): Generator<FlatLeaf, void> {
  if (begin >= end) return;
  for (let at = positionOf(leaves, begin); at < leaves.length; at += 1) {
    const leaf = leaves[at] as FlatLeaf;
    if (leaf.number >= end) return;
    yield leaf;
  }
}

/** The position of the first leaf with a number or a greater one. */
const positionOf = (leaves: readonly FlatLeaf[], number: number): number => {
  let low = 0;
  let high = leaves.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((leaves[middle] as FlatLeaf).number < number) low = middle + 1;
    else high = middle;
  }
  return low;
};
