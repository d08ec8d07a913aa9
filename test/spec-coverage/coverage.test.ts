import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import type { CoverageRow } from "./coverage-row.ts";
import { findTest, readRows } from "./coverage-row.ts";
import { customerProfileRows } from "./customer-profile.ts";
import { eventBusRows } from "./event-bus.ts";
import { objectStorageRows } from "./object-storage.ts";
import { refactoringWorkspaceRows } from "./refactoring-workspace.ts";

interface Coverage {
  readonly service: string;
  readonly rows: readonly CoverageRow[];
  /** How many statements the documents make. */
  readonly statements: number;
  /** How many of them no test shows. */
  readonly pending: number;
}

const coverages: readonly Coverage[] = [
  // service, rows, statements, pending
  { service: "customer-profile", rows: customerProfileRows, statements: 89, pending: 0 },
  { service: "refactoring-workspace", rows: refactoringWorkspaceRows, statements: 88, pending: 2 },
  { service: "event-bus", rows: eventBusRows, statements: 198, pending: 0 },
  { service: "object-storage", rows: objectStorageRows, statements: 221, pending: 0 },
];

const root = join(import.meta.dirname, "..", "..");
const isPending = ({ shownBy }: CoverageRow): boolean => shownBy === "pending";

/** What is wrong with a row's test; undefined: nothing. */
const problemOf = ({ id, shownBy }: CoverageRow): string | undefined => {
  if (shownBy === "pending") return undefined;
  const path = join(root, shownBy.file);
  if (!existsSync(path)) return `${id}: there is no ${shownBy.file}`;
  return findTest(readFileSync(path, "utf8"), shownBy)
    ? undefined
    : `${id}: ${shownBy.file} has no test "${shownBy.test}"${shownBy.block === undefined ? "" : ` in "${shownBy.block}"`}`;
};

describe.each(coverages)("what is documented of $service", ({ service, rows, statements, pending }) => {
  test("is told once, in whole sentences", () => {
    const ids = rows.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(rows.filter(({ says }) => !/^[A-Z].*[^.]\.$/.test(says))).toEqual([]);
    expect(rows).toHaveLength(statements);
  });

  test("is shown by tests that are there", () => {
    expect(rows.map(problemOf).filter((problem) => problem !== undefined)).toEqual([]);
  });

  test("is shown but for the statements that are counted as pending", () => {
    const waiting = rows.filter(isPending).map(({ id }) => id);
    console.info(`${service}: ${rows.length - waiting.length} of ${rows.length} shown; pending: ${waiting.join(" ")}`);
    expect(
      waiting.length,
      `lower the number of ${service} when fewer statements are pending; find the lost test when more are`,
    ).toBe(pending);
  });
});

describe("a row", () => {
  const content = `
describe("putRule", () => {
  test("refuses, in this order", async () => {});
});
describe("deleteRule", () => {
  test.each(rows)("%s is refused", async () => {});
});
`;

  test.each([
    // block, test, found
    ["putRule", "refuses, in this order", true],
    [undefined, "refuses, in this order", true],
    ["deleteRule", "refuses, in this order", false],
    ["deleteRule", "%s is refused", true],
    ["putRule", "%s is refused", false],
    ["putTargets", "%s is refused", false],
    [undefined, "refuses", false],
  ])("in the block %s finds the test %s: %s", (block, name, found) => {
    expect(findTest(content, { block, test: name })).toBe(found);
  });

  test("is read from a line", () => {
    expect(
      readRows("event-bus", "rules.1 | A rule has a name. | operations/rule.test.ts > putRule > takes a name"),
    ).toEqual([
      {
        id: "rules.1",
        says: "A rule has a name.",
        shownBy: { file: "test/event-bus/operations/rule.test.ts", block: "putRule", test: "takes a name" },
      },
    ]);
    expect(() => readRows("event-bus", "rules.1 | A rule has a name.")).toThrow("no row: rules.1");
  });
});
