import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { temporaryDirectory } from "../support/temporary-directory.ts";
import { commitProblem, readCommits } from "./commits.ts";

describe("a commit's message", () => {
  test.each([
    // subject, body, problem
    ["Read the checksum mode without case", "Arrow sends it in lower case.", undefined],
    ["a".repeat(72), "Why.", undefined],
    ["a".repeat(73), "Why.", `"${"a".repeat(73)}" has 73 columns; 72 is the most`],
    ["Mend it", "", '"Mend it" has no body: say why, and the evidence'],
    ["Mend it", "Signed-off-by: Ann <ann@example.com>", '"Mend it" has no body: say why, and the evidence'],
  ])("with the subject $0 and the body $1 has the problem $2", (subject, body, problem) => {
    expect(commitProblem({ subject, body })).toBe(problem);
  });
});

/** Runs git in a directory as Ann, at an instant. */
const gitIn =
  (directory: string) =>
  (at: string, ...words: string[]): string =>
    execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", ...words], {
      cwd: directory,
      encoding: "utf8",
      env: { ...process.env, GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at, GIT_CONFIG_GLOBAL: "/dev/null" },
    });

describe("the commits that are read", () => {
  test("are those after the exempt one, in a whole clone and in one of the last commit only", async () => {
    const directory = await temporaryDirectory();
    const git = gitIn(directory);
    git("2026-11-01T00:00:00Z", "init", "-q", "-b", "main");
    const commit = async (at: string, message: string): Promise<void> => {
      await writeFile(join(directory, "file"), message);
      git(at, "add", "file");
      git(at, "commit", "-q", "-m", message);
    };
    await commit("2026-11-01T00:00:00Z", "An early one");
    await commit("2026-11-21T17:00:00Z", "Give each service the same rooms");
    await commit("2026-11-22T00:00:00Z", "A later one\n\nWith its reason.\nAnd the evidence.");
    await commit("2026-11-23T00:00:00Z", "The last one");
    expect(readCommits(directory)).toEqual([
      { subject: "The last one", body: "" },
      { subject: "A later one", body: "With its reason.\nAnd the evidence.\n" },
    ]);

    const shallow = await temporaryDirectory();
    git("2026-11-23T00:00:00Z", "clone", "-q", "--depth", "1", `file://${directory}`, shallow);
    expect(readCommits(shallow)).toEqual([{ subject: "The last one", body: "" }]);
  });

  test("are none where there is no clone", async () => {
    expect(readCommits(await temporaryDirectory())).toEqual([]);
  });
});
