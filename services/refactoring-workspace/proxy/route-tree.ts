import { parseSourcePath } from "../domain/source-path.ts";

/** A route by path, as the tree contains it. */
export interface RouteRule<Target> {
  readonly sourcePath: string;
  /** Empty: all. */
  readonly methods: readonly string[];
  readonly includeChildPaths: boolean;
  readonly target: Target;
}

/** The route for a request. */
export interface RouteMatch<Target> {
  readonly target: Target;
  /** How many segments of the request the source path matched; 0 for the default route. */
  readonly usedSegments: number;
}

/** Whether a route that matches a request takes it. */
type Takes<Target> = (target: Target) => boolean;

/** What is looked for. */
interface Search<Target> {
  readonly method: string;
  readonly segments: readonly string[];
  readonly takes: Takes<Target> | undefined;
}

/** The routes at one path by method. */
interface MethodTable<Target> {
  readonly byMethod: Map<string, Target>;
  any: Target | undefined;
}

interface Node<Target> {
  readonly literals: Map<string, Node<Target>>;
  parameter: Node<Target> | undefined;
  /** Routes for exactly this path. */
  readonly here: MethodTable<Target>;
  /** Routes for every path below. */
  readonly below: MethodTable<Target>;
}

/**
 * The routes of one application, compiled once and never changed: a tree with a level for each segment.
 *
 * The most specific route is used: level by level, a literal has precedence over a parameter, which has precedence over
 * a route with child paths; at one path, a route that names the method has precedence over one for all methods. A
 * branch that ends without a route for the request is left for the next best, so a request goes to the default route
 * only if no other route matches it. One search visits each node at most once.
 */
export class RouteTree<Target> {
  readonly #root: Node<Target> = emptyNode();
  readonly #fallback: Target | undefined;

  /** Of two rules for the same path and method the last is used; the control plane refuses such pairs. */
  constructor(rules: readonly RouteRule<Target>[], fallback?: Target) {
    this.#fallback = fallback;
    for (const rule of rules) {
      const node = this.#nodeAt(rule.sourcePath);
      put(node.here, rule);
      if (rule.includeChildPaths) put(node.below, rule);
    }
  }

  /**
   * The route for a method (upper case) and the decoded segments of a path; undefined if none matches. Those that
   * `takes` says no of do not match; the default route is not asked. Unset: all take the request.
   */
  match(method: string, segments: readonly string[], takes?: Takes<Target>): RouteMatch<Target> | undefined {
    const found = search(this.#root, { method, segments, takes }, 0);
    if (found !== undefined) return found;
    return this.#fallback === undefined ? undefined : { target: this.#fallback, usedSegments: 0 };
  }

  #nodeAt(sourcePath: string): Node<Target> {
    let node = this.#root;
    for (const segment of parseSourcePath(sourcePath)) {
      if (segment.kind === "parameter") {
        node = node.parameter ??= emptyNode();
        continue;
      }
      let next = node.literals.get(segment.text);
      if (next === undefined) node.literals.set(segment.text, (next = emptyNode()));
      node = next;
    }
    return node;
  }
}

const emptyNode = <Target>(): Node<Target> => ({
  literals: new Map(),
  parameter: undefined,
  here: { byMethod: new Map(), any: undefined },
  below: { byMethod: new Map(), any: undefined },
});

const put = <Target>(table: MethodTable<Target>, rule: RouteRule<Target>): void => {
  if (rule.methods.length === 0) table.any = rule.target;
  for (const method of rule.methods) table.byMethod.set(method, rule.target);
};

const pick = <Target>(table: MethodTable<Target>, { method, takes }: Search<Target>): Target | undefined => {
  const named = table.byMethod.get(method);
  if (takes === undefined) return named ?? table.any;
  if (named !== undefined && takes(named)) return named;
  return table.any !== undefined && takes(table.any) ? table.any : undefined;
};

const search = <Target>(node: Node<Target>, wanted: Search<Target>, depth: number): RouteMatch<Target> | undefined => {
  const { segments } = wanted;
  if (depth === segments.length) {
    const target = pick(node.here, wanted);
    return target === undefined ? undefined : { target, usedSegments: depth };
  }
  const segment = segments[depth] as string;
  const literal = node.literals.get(segment);
  const byLiteral = literal === undefined ? undefined : search(literal, wanted, depth + 1);
  if (byLiteral !== undefined) return byLiteral;
  // A parameter does not match an empty segment, as in `/users//orders`.
  const parameter = segment === "" ? undefined : node.parameter;
  const byParameter = parameter === undefined ? undefined : search(parameter, wanted, depth + 1);
  if (byParameter !== undefined) return byParameter;
  const target = pick(node.below, wanted);
  return target === undefined ? undefined : { target, usedSegments: depth };
};
