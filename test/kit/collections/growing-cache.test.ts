import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { expect, test } from "vitest";

import { growingCache } from "../../../services/kit/collections/growing-cache.ts";

test("a cache has as many entries as it may, and forgets the one that was used longest ago", () => {
  const cache = growingCache<string, number>(3);
  for (const [index, name] of ["a", "b", "c"].entries()) cache.set(name, index);
  cache.get("a");
  cache.set("d", 3);
  expect([...cache.keys()].toSorted()).toEqual(["a", "c", "d"]);
});

test("a hundred empty caches for 10,000 entries each need less than 1 MiB", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  const before = process.memoryUsage();
  const caches = Array.from({ length: 100 }, () => growingCache<string, number>(10_000));
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  expect(caches).toHaveLength(100);
  expect(heapUsed - before.heapUsed + arrayBuffers - before.arrayBuffers).toBeLessThan(1024 * 1024);
});
