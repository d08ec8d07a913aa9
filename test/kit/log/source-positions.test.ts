import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { expect, test } from "vitest";

import { withSourcePositions } from "../../../services/kit/log/source-positions.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

test("a stack of a bundle names the places of its sources, and other places stay", async () => {
  const directory = await temporaryDirectory();
  const path = join(directory, "shop.cjs");
  const other = join(directory, "other.cjs");
  // Line 1, column 1 of the bundle is line 3, column 5 of the source.
  const map = { version: 3, sources: ["../shop/sale.ts"], names: [], mappings: "AAEI" };
  await writeFile(join(directory, "shop.cjs.map"), JSON.stringify(map));
  const lines = (first: string) =>
    ["Error: sold out", `    at sell (${first})`, `    at ${other}:7:9`, "    at node:internal/timers:5:1"].join("\n");
  const source = new URL("../shop/sale.ts", pathToFileURL(path)).href;
  expect(withSourcePositions(lines(`${path}:1:1`))).toBe(lines(`${source}:3:5`));
});

test("names that look like places cost time that grows with their length", () => {
  const stack = `Error: no file ${"/".repeat(100_000)}`;
  const before = process.threadCpuUsage();
  expect(withSourcePositions(stack)).toBe(stack);
  expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(200);
});
