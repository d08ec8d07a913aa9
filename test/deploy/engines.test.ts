import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

const read = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, "..", "..", name), "utf8")) as unknown;

const partsOf = (version: string): number[] => version.split(".").map(Number);

/** Whether one version is another or a later one. */
const reaches = (version: readonly number[], [major = 0, minor = 0, patch = 0]: readonly number[]): boolean => {
  const [ownMajor = 0, ownMinor = 0, ownPatch = 0] = version;
  if (ownMajor !== major) return ownMajor > major;
  return ownMinor === minor ? ownPatch >= patch : ownMinor > minor;
};

/** Whether a version is in a range of the forms that packages use: `>=22.19.0`, `^22.12.0 || ^24.0.0`, `20 || >=22`. */
const isIn = (version: string, range: string): boolean =>
  range.split("||").some((alternative) =>
    alternative
      .trim()
      .replaceAll(/([<>=^~])\s+/g, "$1")
      .split(/\s+/)
      .every((comparator) => {
        const [, sign = "", bound = ""] = /^([<>=^~]*)\s*v?([\d.]+)/.exec(comparator.trim()) ?? [];
        const [own, wanted] = [partsOf(version), partsOf(bound)];
        if (bound === "") return comparator.trim() === "*";
        if (sign === "<") return !reaches(own, wanted);
        return reaches(own, wanted) && (sign === ">=" || own[0] === wanted[0]);
      }),
  );

test("the Node that is documented, and the one that the scripts use, warn of no package", () => {
  const { engines, devDependencies } = read("package.json") as {
    readonly engines: { readonly node: string };
    readonly devDependencies: { readonly node: string };
  };
  const { packages } = read("package-lock.json") as {
    readonly packages: Readonly<Record<string, { readonly engines?: { readonly node?: string } }>>;
  };
  expect(engines.node).toBe(">=22.19");
  const ranges = Object.entries(packages).map(([name, { engines: needed }]) => [name, needed?.node ?? "*"] as const);
  expect(ranges.length).toBeGreaterThan(300);
  for (const version of ["22.19.0", devDependencies.node])
    expect(ranges.filter(([, range]) => !isIn(version, range))).toEqual([]);
  expect(ranges.some(([, range]) => !isIn("22.18.0", range))).toBe(true);
  expect(ranges.some(([, range]) => !isIn("20.20.2", range))).toBe(true);
});
