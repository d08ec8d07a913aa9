import type { DescMethod, DescService } from "@bufbuild/protobuf";

import type { HttpContract, MethodContract } from "../../services/kit/contract/contract.ts";
import { methodContract } from "../../services/kit/contract/contract.ts";
import type { TemplateSegment } from "../../services/kit/contract/path-template.ts";
import { decodePercent } from "../http/percent.ts";
import type { QueryParameters } from "../http/query.ts";

/** The method of a request line and its headers. */
export interface MethodMatch {
  readonly method: MethodContract;
  /** Label values, decoded, by name. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The parts of a request that choose its method. */
export interface RouteQuestion {
  readonly method: string;
  /** Raw path inside the API, escapes untouched. */
  readonly path: string;
  readonly query: QueryParameters;
  readonly hasHeader: (documented: string) => boolean;
}

/** The routes of one service. */
export interface MethodRoutes {
  /** Undefined if no method of the service has this route. Throws MALFORMED_URI. */
  find(question: RouteQuestion): MethodMatch | undefined;
  /** Whether the service has a method at this path with any HTTP method. */
  knowsPath(path: string): boolean;
  /**
   * Whether a method of the service has this path because of a literal at its beginning, which no label takes, or the
   * request means one beside such methods.
   */
  isFixedPath(question: Pick<RouteQuestion, "method" | "path" | "hasHeader">): boolean;
  /**
   * Whether the request means an operation beside methods that share a literal at the beginning of their paths and a
   * header, because it has both and none of the paths.
   */
  isBesideFixedPaths(question: Pick<RouteQuestion, "method" | "path" | "hasHeader">): boolean;
}

interface Route {
  readonly contract: MethodContract;
  readonly http: HttpContract;
  /** The number of conditions on query and headers. */
  readonly conditions: number;
  /** The number of parameters that a query must have at least. */
  readonly parametersMin: number;
}

/** All routes that differ only in their conditions, the most conditional first. */
interface Shape {
  readonly segments: readonly TemplateSegment[];
  readonly routes: Route[];
}

/**
 * Compiles the routes of a service. The most specific of the matching routes is chosen: by segment from the left, a
 * literal before a label before a label that spans slashes; then the one with the most conditions. The older of two
 * methods with one route is chosen only by `x-id`.
 */
export const compileRoutes = (service: DescService): MethodRoutes => {
  const shapes = new Map<string, Shape[]>();
  for (const method of service.methods) addRoute(shapes, method);
  for (const each of shapes.values()) {
    each.sort((a, b) => compareSegments(a.segments, b.segments));
    for (const shape of each) shape.routes.sort((a, b) => b.conditions - a.conditions);
  }
  const find = (question: RouteQuestion): MethodMatch | undefined => {
    const segments = splitPath(question.path);
    for (const shape of shapes.get(question.method) ?? []) {
      if (!fits(shape.segments, segments)) continue;
      const route = chooseRoute(shape.routes, question);
      if (route !== undefined) return { method: route.contract, labels: readLabels(route.http, segments) };
    }
    return undefined;
  };
  const fixed = [...shapes].flatMap(([method, each]) =>
    each.flatMap(({ segments: [first], routes }) =>
      first?.kind === "literal"
        ? routes.map(({ http }) => ({ method, http, start: `/${first.text}`, inside: `/${first.text}/` }))
        : [],
    ),
  );
  const withHeaders = fixed.filter(({ http }) => http.requiredHeaders.length > 0);
  type Fixed = (typeof fixed)[number];
  type Question = Pick<RouteQuestion, "method" | "path" | "hasHeader">;
  const isOf = ({ method, start, http }: Fixed, question: Question): boolean =>
    method === question.method &&
    question.path.startsWith(start) &&
    fits(http.template.segments, splitPath(question.path)) &&
    http.requiredHeaders.every(question.hasHeader);
  const isBesideFixedPaths = (question: Question): boolean =>
    withHeaders.some(
      ({ inside, http }) => question.path.startsWith(inside) && http.requiredHeaders.every(question.hasHeader),
    ) && !withHeaders.some((each) => isOf(each, question));
  return {
    find,
    isFixedPath: (question) => fixed.some((each) => isOf(each, question)) || isBesideFixedPaths(question),
    isBesideFixedPaths,
    knowsPath: (path) => {
      const segments = splitPath(path);
      return [...shapes.values()].some((each) => each.some((shape) => fits(shape.segments, segments)));
    },
  };
};

const addRoute = (shapes: Map<string, Shape[]>, method: DescMethod): void => {
  const contract = methodContract(method);
  const { http } = contract;
  if (http === undefined) return;
  const own = shapes.get(http.method) ?? [];
  shapes.set(http.method, own);
  const shape = own.find((each) => compareSegments(each.segments, http.template.segments) === 0);
  const conditions = http.template.query.length + http.requiredQuery.length + http.requiredHeaders.length;
  const names = new Set([...http.template.query.map(({ name }) => name), ...http.requiredQuery]);
  const route = { contract, http, conditions, parametersMin: names.size };
  if (shape === undefined) own.push({ segments: http.template.segments, routes: [route] });
  else shape.routes.push(route);
};

const rank = (segment: TemplateSegment | undefined): string => {
  if (segment === undefined) return "3";
  if (segment.kind === "literal") return `0${segment.text}`;
  return segment.kind === "label" ? "1" : "2";
};

/** Orders templates from the most specific to the least; 0 if they match the same paths. */
const compareSegments = (a: readonly TemplateSegment[], b: readonly TemplateSegment[]): number => {
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const [rankA, rankB] = [rank(a[index]), rank(b[index])];
    if (rankA !== rankB) return rankA < rankB ? -1 : 1;
  }
  return 0;
};

/** The raw segments of a path; the root has none. */
const splitPath = (path: string): string[] => (path === "/" || path === "" ? [] : path.slice(1).split("/"));

/** An empty last segment (`/photos/`) counts only for a label that spans slashes after a segment of its own. */
const fits = (template: readonly TemplateSegment[], segments: readonly string[]): boolean => {
  const last = template.at(-1);
  if (last?.kind === "greedy") {
    const isEnough =
      segments.length > template.length || (segments.length === template.length && segments.at(-1) !== "");
    return isEnough && template.every((segment, index) => fitsSegment(segment, segments[index]!));
  }
  const count =
    segments.length === template.length + 1 && segments.at(-1) === "" ? segments.length - 1 : segments.length;
  return count === template.length && template.every((segment, index) => fitsSegment(segment, segments[index]!));
};

const fitsSegment = (segment: TemplateSegment, raw: string): boolean => {
  if (segment.kind === "literal") return segment.text === raw;
  return segment.kind === "greedy" || raw !== "";
};

const chooseRoute = (routes: readonly Route[], question: RouteQuestion): Route | undefined => {
  const fitting = routes.find((route) => !route.http.isSuperseded && holds(route, question));
  const named = question.query.get("x-id");
  if (named === undefined) return fitting;
  const older = routes.find(
    (route) => route.http.isSuperseded && route.contract.desc.name === named && holds(route, question),
  );
  return older ?? fitting;
};

const holds = ({ http, parametersMin, conditions }: Route, question: RouteQuestion): boolean =>
  conditions === 0 || (parametersMin <= question.query.all.length && meets(http, question));

const meets = (http: HttpContract, question: RouteQuestion): boolean =>
  http.template.query.every(({ name, value }) =>
    value === undefined ? question.query.has(name) : question.query.get(name) === value,
  ) &&
  http.requiredQuery.every((name) => question.query.has(name)) &&
  http.requiredHeaders.every(question.hasHeader);

const readLabels = (http: HttpContract, segments: readonly string[]): Record<string, string> => {
  const labels: Record<string, string> = {};
  for (const [index, segment] of http.template.segments.entries()) {
    if (segment.kind === "label") labels[segment.name] = decodePercent(segments[index]!);
    else if (segment.kind === "greedy")
      labels[segment.name] = decodePercent(
        index === segments.length - 1 ? segments[index]! : segments.slice(index).join("/"),
      );
  }
  return labels;
};
