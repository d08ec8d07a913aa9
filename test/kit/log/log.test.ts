import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

/** Runs a script that logs, and gives back its lines. */
const logged = (script: string): Record<string, unknown>[] => {
  const log = join(import.meta.dirname, "..", "..", "..", "services", "kit", "log", "log.ts");
  const source = `import { createLogger } from ${JSON.stringify(log)}; const log = createLogger({ name: "sample" }); ${script}`;
  const ended = spawnSync(process.execPath, ["--input-type=module", "-e", source], { encoding: "utf8" });
  expect(ended.stderr).toBe("");
  return ended.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

describe("a log line", () => {
  test("is JSON with time, name and message where there is no terminal", () => {
    const [line] = logged('log.info({ bytes: 3 }, "stored")');
    expect(line).toMatchObject({ level: 30, name: "sample", bytes: 3, msg: "stored" });
    expect(line?.["time"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("hides members that hold secrets, at the top and one level down", () => {
    const [line] = logged(
      'log.info({ authorization: "Bearer hush", key: { secretAccessKey: "hush" }, token: "hush" }, "call")',
    );
    expect(line).toMatchObject({ authorization: "[hidden]", key: { secretAccessKey: "[hidden]" }, token: "[hidden]" });
  });

  test("is left out below the level", () => {
    expect(logged('log.debug("no"); log.info("yes")').map((line) => line["msg"])).toEqual(["yes"]);
  });
});
