import { describe, expect, test } from "vitest";

import type { RouteRule } from "../../../services/refactoring-workspace/proxy/route-tree.ts";
import { RouteTree } from "../../../services/refactoring-workspace/proxy/route-tree.ts";
import { rounds } from "../../support/rounds.ts";
import type { SeededRandom } from "../../kit/store/seeded-random.ts";
import { seededRandom } from "../../kit/store/seeded-random.ts";

const rule = (target: string, more: Partial<RouteRule<string>> = {}): RouteRule<string> => ({
  sourcePath: target.replace(/^[A-Z,]+ /, "").replace(/\/\*$/, ""),
  methods: /^[A-Z,]+ /.test(target) ? (target.split(" ")[0]?.split(",") ?? []) : [],
  includeChildPaths: target.endsWith("/*"),
  target,
  ...more,
});

/** The name of the route for `METHOD /path`, or `default`. */
const ask = (targets: readonly string[], request: string): string | undefined => {
  const [method = "", path = ""] = request.split(" ");
  const tree = new RouteTree(
    targets.map((target) => rule(target)),
    "default",
  );
  const segments = path.split("/").slice(1);
  return tree.match(method, segments.at(-1) === "" ? segments.slice(0, -1) : segments)?.target;
};

test("a route that does not take a request leaves it for the next best, and the default route takes it", () => {
  const rules = ["GET /a/b", "/a/b", "/a/{x}", "/a/*"].map((target) => rule(target));
  const tree = new RouteTree(rules, "default");
  const taking = (...not: readonly string[]) =>
    tree.match("GET", ["a", "b"], (target) => !not.includes(target))?.target;
  expect(taking()).toBe("GET /a/b");
  expect(taking("GET /a/b")).toBe("/a/b");
  expect(taking("GET /a/b", "/a/b")).toBe("/a/{x}");
  expect(taking("GET /a/b", "/a/b", "/a/{x}")).toBe("/a/*");
  expect(taking("/a/*", "GET /a/b", "/a/b", "/a/{x}")).toBe("default");
  expect(tree.match("GET", ["c"], () => false)).toEqual({ target: "default", usedSegments: 0 });
});

describe("the route that takes a request", () => {
  const routes = [
    "/users",
    "/users/{id}",
    "/users/me",
    "/{kind}/list",
    "/docs/*",
    "/docs/{page}/edit",
    "GET /both",
    "/both",
  ];

  test.each([
    // request, route
    ["GET /users", "/users"],
    ["GET /users/", "/users"],
    ["GET /users/7", "/users/{id}"],
    ["GET /users/me", "/users/me"],
    ["GET /users/me/friends", "default"],
    // `/users` has no `/list` but by its parameter, which is more specific than `/{kind}`.
    ["GET /users/list", "/users/{id}"],
    ["GET /orders/list", "/{kind}/list"],
    ["GET /orders", "default"],
    ["GET /docs", "/docs/*"],
    ["GET /docs/intro", "/docs/*"],
    ["GET /docs/intro/edit", "/docs/{page}/edit"],
    ["GET /docs/intro/show", "/docs/*"],
    // A literal beats all that parameters could reach below it.
    ["GET /docs/list", "/docs/*"],
    ["GET /both", "GET /both"],
    ["POST /both", "/both"],
    ["GET /USERS", "default"],
    ["GET /", "default"],
    ["GET /users//", "default"],
  ])("for %s is the route %s", (request, expected) => {
    expect(ask(routes, request)).toBe(expected);
  });

  test("is looked for in the next best branch when the best one ends without one", () => {
    expect(ask(["/a/b/c", "/{x}/b/d"], "GET /a/b/d")).toBe("/{x}/b/d");
    expect(ask(["GET /a/{x}", "/{y}/b"], "POST /a/b")).toBe("/{y}/b");
    expect(ask(["GET /a", "/a/*"], "POST /a")).toBe("/a/*");
  });

  test("is none without a default route", () => {
    expect(new RouteTree([rule("/a")]).match("GET", ["b"])).toBeUndefined();
  });

  test("says how many segments its source path used", () => {
    const tree = new RouteTree([rule("/a/{x}/*")], "default");
    expect(tree.match("GET", ["a", "b", "c", "d"])).toEqual({ target: "/a/{x}/*", usedSegments: 2 });
    expect(tree.match("GET", ["b"])).toEqual({ target: "default", usedSegments: 0 });
  });
});

/** All routes that match, compared pairwise: the plain reading of the precedence. */
const modelMatch = (rules: readonly RouteRule<string>[], method: string, segments: readonly string[]): string => {
  const matching = rules.filter((each) => {
    const source = each.sourcePath.slice(1).split("/");
    const fits = source.every(
      (text, level) =>
        segments[level] !== undefined && (text.startsWith("{") ? segments[level] !== "" : text === segments[level]),
    );
    const lengthFits = source.length === segments.length || (each.includeChildPaths && segments.length > source.length);
    return fits && lengthFits && (each.methods.length === 0 || each.methods.includes(method));
  });
  const rank = (each: RouteRule<string>): number[] => {
    const source = each.sourcePath.slice(1).split("/");
    const levels = segments.map((_segment, level) => {
      const text = source[level];
      return text === undefined ? 0 : text.startsWith("{") ? 1 : 2;
    });
    return [...levels, each.methods.length === 0 ? 0 : 1];
  };
  const compare = (one: RouteRule<string>, other: RouteRule<string>): number => {
    const [ones, others] = [rank(one), rank(other)];
    const level = ones.findIndex((value, index) => value !== others[index]);
    return level === -1 ? 0 : (others[level] ?? 0) - (ones[level] ?? 0);
  };
  return matching.toSorted(compare)[0]?.target ?? "default";
};

const randomRules = (random: SeededRandom): RouteRule<string>[] => {
  const taken = new Set<string>();
  const rules: RouteRule<string>[] = [];
  for (let count = random.below(12); count > 0; count--) {
    const length = 1 + random.below(4);
    const sourcePath = Array.from({ length }, () => `/${random.pick(["a", "b", "c", "{x}", "{y}"])}`).join("");
    const methods = random.chance(0.5) ? [] : [random.pick(["GET", "POST"])];
    // The control plane refuses two routes for the same requests.
    const identity = `${methods.join("")} ${sourcePath.replaceAll(/\{\w\}/g, "{}")}`;
    if (taken.has(identity)) continue;
    taken.add(identity);
    const includeChildPaths = random.chance(0.4);
    rules.push({ sourcePath, methods, includeChildPaths, target: `${identity} ${includeChildPaths}` });
  }
  return rules;
};

test("agrees with the plain reading of the precedence on random routes and requests", () => {
  const seed = 20_260_102;
  const random = seededRandom(seed);
  for (let round = 0; round < rounds(300, 30_000); round++) {
    const rules = randomRules(random);
    const tree = new RouteTree(rules, "default");
    for (let request = 0; request < 30; request++) {
      const segments = Array.from({ length: random.below(6) }, () => random.pick(["a", "b", "c", "d", ""]));
      const method = random.pick(["GET", "POST", "PUT"]);
      const found = tree.match(method, segments)?.target;
      const expected = modelMatch(rules, method, segments);
      expect(found, `seed ${seed}, round ${round}: ${method} /${segments.join("/")}`).toBe(expected);
    }
  }
});
