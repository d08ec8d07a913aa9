import { describe, expect, test } from "vitest";

import {
  forwardedTarget,
  parseRequestPath,
  parseRequestTarget,
  parseTargetUrl,
  UnsafePathError,
} from "../../../services/refactoring-workspace/proxy/request-path.ts";

describe("a request target", () => {
  test.each([
    // target, path, query
    ["/a/b?c=d?e", "/a/b", "?c=d?e"],
    ["/", "/", ""],
    ["/?", "/", "?"],
    ["http://shop.example/a?b", "/a", "?b"],
    ["HTTPS://shop.example", "/", ""],
    ["http://shop.example?b", "/", "?b"],
  ])("%s is path %s and query %s", (target, path, query) => {
    expect(parseRequestTarget(target)).toEqual({ path, query });
  });

  test.each(["*", "shop.example:80", "/a#b", ""])("%s is refused", (target) => {
    expect(() => parseRequestTarget(target)).toThrow(UnsafePathError);
  });
});

describe("a path", () => {
  test.each([
    // path, decoded segments, ends with a slash
    ["/", [], true],
    ["/a", ["a"], false],
    ["/a/", ["a"], true],
    ["/a//b", ["a", "", "b"], false],
    ["//", [""], true],
    ["/%61", ["a"], false],
    ["/a%2Fb", ["a/b"], false],
    ["/a%2fb/c", ["a/b", "c"], false],
    ["/%C3%A9", ["\u00c3\u00a9"], false],
    ["/%FF", ["\u00ff"], false],
    ["/...", ["..."], false],
    ["/.well-known", [".well-known"], false],
    ["/a..b", ["a..b"], false],
    // A twice encoded escape is decoded once, and goes on as it came.
    ["/%252e%252e", ["%2e%2e"], false],
  ])("%s has segments %j", (path, decoded, endsWithSlash) => {
    expect(parseRequestPath(path)).toMatchObject({ decoded, endsWithSlash });
  });

  test("keeps its segments as they came", () => {
    expect(parseRequestPath("/%61/b%2Fc/").raw).toEqual(["%61", "b%2Fc"]);
  });

  test.each([
    // path, reason
    ["/a/../b", "the path has a dot segment"],
    ["/a/./b", "the path has a dot segment"],
    ["/..", "the path has a dot segment"],
    ["/%2e%2e/a", "the path has a dot segment"],
    ["/%2E./a", "the path has a dot segment"],
    ["/a%2F..%2Fb", "the path has a dot segment"],
    ["/a%5C..%5Cb", "the path has a dot segment"],
    ["/..;a=b/c", "the path has a dot segment"],
    ["/..%3Ba/c", "the path has a dot segment"],
    ["/a\\b", "the path has a backslash"],
    ["/a%00", "the path has a NUL"],
    ["/a\0", "the path has a NUL"],
    ["/a%", "the path has a broken percent-escape"],
    ["/a%zz", "the path has a broken percent-escape"],
    ["/a%2", "the path has a broken percent-escape"],
  ])("%s is refused: %s", (path, reason) => {
    expect(() => parseRequestPath(path)).toThrow(new UnsafePathError(reason));
  });
});

describe("what a service receives", () => {
  test.each([
    // service url, segments, ends with a slash, query, received
    ["http://b", ["a"], false, "", "/a"],
    ["http://b", [], false, "", "/"],
    ["http://b", [], true, "", "/"],
    ["http://b/", ["a", "b"], true, "?c=d", "/a/b/?c=d"],
    ["http://b/base", [], false, "", "/base"],
    ["http://b/base", [], true, "", "/base/"],
    ["http://b/base/", [], false, "", "/base/"],
    ["http://b/base", ["a"], false, "", "/base/a"],
    ["http://b/base/", ["a"], false, "", "/base/a"],
    ["http://b/base", ["b%2Fc", ""], false, "", "/base/b%2Fc/"],
    ["http://b/base?key=1", ["a"], false, "?c=d", "/base/a?key=1&c=d"],
    ["http://b/base?key=1", ["a"], false, "?", "/base/a?key=1"],
    ["http://b/base?key=1", [], false, "", "/base?key=1"],
  ])("from %s with %j, slash %s, query '%s' is %s", (url, segments, endsWithSlash, query, received) => {
    expect(forwardedTarget(parseTargetUrl(url), segments, endsWithSlash, query)).toBe(received);
  });
});
