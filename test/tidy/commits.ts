import { spawnSync } from "node:child_process";

/** One commit's message. */
export interface Commit {
  readonly subject: string;
  readonly body: string;
}

/** The last commit before the rule. A clone that does not reach back to it is checked as far as it reaches. */
const lastExempt = "Give each service the same rooms";
const subjectColumnsMax = 72;
/** A line such as `Signed-off-by: …`, which explains nothing. */
const trailer = /^[A-Z][A-Za-z-]+-by: /;

/** The messages of the commits since the rule, the latest first; none where the directory is no clone. */
export const readCommits = (root: string): Commit[] => {
  // Committer dates older than the exempt commit's leave out its ancestors in a clone that was cut below it.
  const format = ["--no-merges", "--since=2026-11-21T12:00:00Z", "--format=%s%x00%b%x01"];
  const { stdout, status } = spawnSync("git", ["log", ...format], { cwd: root, encoding: "utf8" });
  if (status !== 0) return [];
  const commits = stdout
    .split("\x01")
    .map((text) => text.replace(/^\n/, "").split("\x00"))
    .filter(([subject = ""]) => subject !== "")
    .map(([subject = "", body = ""]) => ({ subject, body }));
  const end = commits.findIndex(({ subject }) => subject === lastExempt);
  return end === -1 ? commits : commits.slice(0, end);
};

/** What is wrong with a commit's message; undefined: nothing. */
export const commitProblem = ({ subject, body }: Commit): string | undefined => {
  if (subject.length > subjectColumnsMax)
    return `"${subject}" has ${subject.length} columns; ${subjectColumnsMax} is the most`;
  const isExplained = body.split("\n").some((line) => line.trim() !== "" && !trailer.test(line));
  return isExplained ? undefined : `"${subject}" has no body: say why, and the evidence`;
};
