import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What npm leaves where tests start it. */
const ofNpm = ["node-compile-cache"];

/**
 * Gives a run of the tests, and the processes that they start, a temporary directory of their own. The run fails if
 * something is left in it at the end; it is removed in any case.
 */
export default (): (() => void) => {
  const before = process.env["TMPDIR"];
  const directory = mkdtempSync(join(tmpdir(), "quartet-run-"));
  process.env["TMPDIR"] = directory;
  return () => {
    const left = readdirSync(directory).filter((name) => !ofNpm.includes(name));
    rmSync(directory, { recursive: true, force: true });
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    if (left.length > 0) throw new Error(`the tests left in the temporary directory: ${left.toSorted().join(", ")}`);
  };
};
