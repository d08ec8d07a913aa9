import { expect, test } from "vitest";

import type { Harness } from "../harness.ts";
import { alice, as, bob, put, refusalOf, startWithBucket } from "../harness.ts";

const fill = async (harness: Harness, keys: readonly string[]): Promise<void> => {
  await Promise.all(keys.map((key) => put(harness, { bucket: "photos", key }, key)));
};

const keys = ["2025/a.jpg", "2026/01/b.jpg", "2026/01/b.txt", "2026/02/c.png", "2026/d.jpg", "é/f.jpg", "top.jpg"];

test.each([
  // request, keys, common prefixes
  [{ matchGlob: "*.jpg" }, ["top.jpg"], []],
  [{ matchGlob: "2026/**/*.{jpg,png}" }, ["2026/01/b.jpg", "2026/02/c.png", "2026/d.jpg"], []],
  [{ matchGlob: "**.jpg", prefix: "2026/", delimiter: "/" }, ["2026/d.jpg"], ["2026/01/"]],
  [{ matchGlob: "**.jpg", delimiter: "/" }, ["top.jpg"], ["2025/", "2026/", "é/"]],
  [{ matchGlob: "2026/0[2-9]/*", delimiter: "/" }, [], ["2026/"]],
  [{ matchGlob: "**.jpg", delimiter: "/", startAfter: "2026/01/" }, ["top.jpg"], ["é/"]],
  [{ matchGlob: "**.jpg", startAfter: "2026/01/b.jpg" }, ["2026/d.jpg", "top.jpg", "é/f.jpg"], []],
  [
    { matchGlob: "2026/**", startAfter: "2025/z" },
    ["2026/01/b.jpg", "2026/01/b.txt", "2026/02/c.png", "2026/d.jpg"],
    [],
  ],
  [{ matchGlob: "2026/**", startAfter: "2027" }, [], []],
  [{ matchGlob: "2026/**", prefix: "2025/" }, [], []],
  [{ matchGlob: "?/f.jpg", encodingType: "url" }, ["%C3%A9/f.jpg"], []],
  [{ matchGlob: "", prefix: "t" }, ["top.jpg"], []],
])("%o lists %j and the common prefixes %j", async (request, listed, prefixes) => {
  const harness = await startWithBucket();
  await fill(harness, keys);
  const page = await harness.client.listObjectsV2({ bucket: "photos", ...request }, as(alice));
  expect(page.contents.map(({ key }) => key)).toEqual(listed);
  expect(page.commonPrefixes.map(({ prefix }) => prefix)).toEqual(prefixes);
  expect(page).toMatchObject({ isTruncated: false, keyCount: listed.length + prefixes.length });
});

test("goes on page by page with tokens that are bound to the glob", async () => {
  const harness = await startWithBucket();
  await fill(harness, keys);
  const list = (request: object) =>
    harness.client.listObjectsV2({ bucket: "photos", matchGlob: "**.jpg", maxKeys: 2, ...request }, as(alice));
  const first = await list({ delimiter: "/" });
  const second = await list({ delimiter: "/", continuationToken: first.nextContinuationToken });
  expect(first.commonPrefixes.map(({ prefix }) => prefix)).toEqual(["2025/", "2026/"]);
  expect([second.contents.map(({ key }) => key), second.commonPrefixes.map(({ prefix }) => prefix)]).toEqual([
    ["top.jpg"],
    ["é/"],
  ]);
  expect(second.nextContinuationToken).toBeUndefined();
  const continuationToken = first.nextContinuationToken;
  expect(await refusalOf(list({ delimiter: "/", continuationToken, matchGlob: "**.png" }))).toBe("INVALID_PAGE_TOKEN");
  expect(await refusalOf(list({ delimiter: "/", continuationToken, matchGlob: "" }))).toBe("INVALID_PAGE_TOKEN");
});

test("refuses a glob of more than 1,024 characters", async () => {
  const { client } = await startWithBucket();
  const refusal = await refusalOf(client.listObjectsV2({ bucket: "photos", matchGlob: "a".repeat(1_025) }, as(alice)));
  expect(refusal).toMatch(/^INVALID_INPUT: Value 'a+…' at 'match_glob' .* length less than or equal to 1024$/);
});

test.each([
  // request, account, reason; in the order of refusal
  [{ matchGlob: "[" }, bob, "ACCESS_DENIED"],
  [
    { optionalObjectAttributes: ["Colour"], matchGlob: "[" },
    alice,
    "INVALID_ARGUMENT: Invalid attribute name specified",
  ],
  [
    { matchGlob: "a{b", continuationToken: "garbage" },
    alice,
    "INVALID_ARGUMENT: The glob is not valid: the alternatives at character 2 do not end.",
  ],
  [{ matchGlob: "a*", continuationToken: "garbage" }, alice, "INVALID_PAGE_TOKEN"],
])("a request with %o by the account %s ends as %s", async (request, account, reason) => {
  const { client } = await startWithBucket();
  expect(await refusalOf(client.listObjectsV2({ bucket: "photos", ...request }, as(account)))).toBe(reason);
});
