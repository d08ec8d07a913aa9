import { describe, expect, test } from "vitest";

import { parseGlob } from "../../../services/object-storage/domain/glob.ts";

const matches = (pattern: string, key: string): boolean => {
  const glob = parseGlob(pattern);
  return key.startsWith(glob.literalPrefix) && glob.match(key).isMatch;
};

describe("a glob", () => {
  test.each([
    // pattern, keys that match, keys that do not
    ["a/b.txt", ["a/b.txt"], ["a/b.tx", "a/b.txtt", "a/b", ""]],
    ["*.txt", [".txt", "a.txt", "é.txt"], ["a/b.txt", "a.txt/", "a.tx"]],
    ["**.txt", [".txt", "a.txt", "a/b/c.txt"], ["a.txt/b"]],
    ["a*", ["a", "ab"], ["a/", "a/b", "b"]],
    ["a**", ["a", "ab", "a/", "a/b"], ["b"]],
    ["a/*/c", ["a/b/c", "a//c"], ["a/c", "a/b/d/c", "a/b/cc"]],
    ["a/**/c", ["a/c", "a/b/c", "a/b/d/c", "a//c"], ["ac", "a/bc", "a/b/cc"]],
    ["**/c", ["c", "b/c", "a/b/c", "/c"], ["bc", "a/bc"]],
    ["a**/c", ["a/c", "ab/c", "a/b/c"], ["ac"]],
    ["a/**", ["a/", "a/b", "a/b/c"], ["a", "ab"]],
    ["***", ["", "a/b"], []],
    ["?", ["a", "é", "\u{1f600}"], ["", "/", "ab"]],
    ["a?c", ["abc"], ["ac", "a/c", "abbc"]],
    ["[abc-e]", ["a", "b", "d", "e"], ["f", "-", "ab", ""]],
    ["[!a-c]x", ["dx", "-x", "\u{1f600}x"], ["ax", "/x", "x"]],
    ["[^a]", ["b"], ["a", "/"]],
    ["[/a]", ["a"], ["/"]],
    ["[]a-]", ["]", "a", "-"], ["b"]],
    ["[!]]", ["a"], ["]"]],
    ["[\\]\\-z]", ["]", "-", "z"], ["a", "\\"]],
    ["[α-ω\u{1f600}-\u{1f64f}]", ["λ", "\u{1f610}"], ["a"]],
    ["{a,bc}d", ["ad", "bcd"], ["d", "abcd", "bd"]],
    ["x{,y}", ["x", "xy"], ["xyy"]],
    ["*.{jpg,png,tar.{gz,xz}}", ["a.jpg", "a.png", "a.tar.gz", "a.tar.xz"], ["a.tar", "a.tar.", "a.gz", "a/b.png"]],
    ["{*,a/**}/z", ["b/z", "a/z", "a/b/c/z"], ["b/c/z"]],
    ["a\\*b\\{c\\\\", ["a*b{c\\"], ["axb{c\\"]],
    ["*\\?", ["a?"], ["ab"]],
    ["a,b}]", ["a,b}]"], ["a"]],
    ["{a}", ["a"], ["", "{a}"]],
    ["*a*a*a", ["aaa", "banana bana"], ["aab", "aa"]],
  ])("%j matches %j and not %j", (pattern, matching, others) => {
    expect(matching.filter((key) => !matches(pattern, key))).toEqual([]);
    expect(others.filter((key) => matches(pattern, key))).toEqual([]);
  });

  test.each([
    // pattern, the literal beginning, whether that is all
    ["logs/2026/*.gz", "logs/2026/", false],
    ["a\\*b?", "a*b", false],
    ["{a,ab}", "", false],
    ["plain", "plain", true],
    ["plain\\?", "plain?", true],
    ["", "", true],
  ])("%j begins literally with %j", (pattern, literalPrefix, isLiteral) => {
    expect(parseGlob(pattern)).toMatchObject({ literalPrefix, isLiteral });
  });

  test.each([
    // pattern, key, the beginning that no match has
    ["*.txt", "a/b/c", "a/"],
    ["a/*/c", "a/b/d/e", "a/b/d"],
    ["a?", "abcd", "abc"],
    ["a[bc]\u{1f600}", "ab\u{1f601}x", "ab\u{1f601}"],
    ["a?", "ab\u{1f601}", "ab\u{1f601}"],
    ["{ab,cd}", "ax", "ax"],
    ["**/c", "a/b", undefined],
    ["*", "abc", undefined],
    ["ab?", "ab", undefined],
  ])("%j shows of %j that nothing beginning with %j matches", (pattern, key, hopelessPrefix) => {
    expect(parseGlob(pattern).match(key).hopelessPrefix).toBe(hopelessPrefix);
  });

  test.each([
    // in the order of the pattern
    ["a[b", "the set at character 2 does not end"],
    ["a[", "the set at character 2 does not end"],
    ["[]", "the set at character 1 does not end"],
    ["[a-", "the set at character 1 does not end"],
    ["[a\\", "the backslash at the end escapes nothing"],
    ["[z-a]", "a range of the set at character 1 is reversed"],
    ["é{a,{b}", "the alternatives at character 2 do not end"],
    ["a\\", "the backslash at the end escapes nothing"],
    [`{${",".repeat(100)}}`, "there are more than 100 alternatives"],
  ])("%j is refused: %s", (pattern, message) => {
    expect(() => parseGlob(pattern)).toThrow(message);
  });

  test.each([
    // what it is made of, how often, the end; patterns that take years by backtracking
    ["*a", 500, "b"],
    ["**a", 300, "b"],
    ["**a?", 1, "?".repeat(1_000)],
    ["{a,aa}", 50, "b"],
    ["{,a}", 50, "b"],
    ["*[!b]", 200, "b"],
  ])("made of %j %i times takes steps in proportion to both lengths", (part, times, end) => {
    const { steps } = parseGlob(part.repeat(times) + end).match("a".repeat(1_024));
    expect(steps).toBeLessThan(2_400_000);
  });
});
