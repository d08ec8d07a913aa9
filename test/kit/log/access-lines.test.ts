import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { expect, test } from "vitest";

import { accessLines } from "../../../services/kit/log/access-lines.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";

const logFolder = join(import.meta.dirname, "..", "..", "..", "services", "kit", "log");

/** Runs a script that has a logger and the access lines of it, and returns what it wrote, line by line. */
const written = (script: string, level = "info"): string[] => {
  const source = `
    import { createLogger } from ${JSON.stringify(join(logFolder, "log.ts"))};
    import { accessLines } from ${JSON.stringify(join(logFolder, "access-lines.ts"))};
    const log = createLogger({ name: "sample", level: "${level}" });
    const access = accessLines(log, "request");
    ${script}`;
  const ended = spawnSync(process.execPath, ["--input-type=module", "-e", source], { encoding: "utf8" });
  expect(ended.stderr).toBe("");
  return ended.stdout.split("\n").filter((line) => line !== "");
};

const members = '{ path: "/a\\"b\\n", status: 200, ms: 1.5, isCut: undefined, isLate: true }';

test("an access line is the line that the logger itself would write", () => {
  const withoutTime = written(`access(${members}); log.info(${members}, "request");`).map((line) =>
    line.replace(/"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/, '"time":"now"'),
  );
  const line =
    '{"level":30,"time":"now","name":"sample","path":"/a\\"b\\n","status":200,"ms":1.5,"isLate":true,"msg":"request"}';
  expect(withoutTime).toEqual([line, line]);
});

test("lines of one second and of the next have their own times", () => {
  const lines = written(`
    for (const ms of [1_767_323_045_007, 1_767_323_045_999, 1_767_323_046_000, 1_767_323_045_120]) {
      Date.now = () => ms;
      access({});
    }`);
  expect(lines.map((line) => (JSON.parse(line) as { time: string }).time)).toEqual([
    "2026-01-02T03:04:05.007Z",
    "2026-01-02T03:04:05.999Z",
    "2026-01-02T03:04:06.000Z",
    "2026-01-02T03:04:05.120Z",
  ]);
});

test("signatures and tokens are removed from its texts", () => {
  const [line] = written('access({ path: "/a&X-Amz-Signature=0badc0de", agent: "Bearer abcdefghij" })');
  expect(line).toContain('"path":"/a&X-Amz-Signature=[hidden]","agent":"Bearer [hidden]"');
});

test("lines keep their order among other lines, and are written although the process exits at once", () => {
  const lines = written("access({ count: 1 }); log.warn({ count: 2 }); access({ count: 3 }); process.exit(0);");
  expect(lines.map((line) => (JSON.parse(line) as { count: number }).count)).toEqual([1, 2, 3]);
});

test("lines below the level are left out", () => {
  expect(written("access({ count: 1 })", "warn")).toEqual([]);
});

test("a logger with another output writes them itself", () => {
  const { log, lines } = capturingLogger("info");
  accessLines(log, "request")({ status: 200, isCut: undefined });
  expect(lines).toMatchObject([{ level: 30, status: 200, msg: "request" }]);
});
