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

  test("shows only the type of a protobuf message, because it may hold anything", () => {
    const [line] = logged('log.info({ request: { $typeName: "sample.Request", apiKey: "hush" }, size: 3 }, "call")');
    expect(line).toMatchObject({ request: "sample.Request", size: 3 });
  });

  test("lacks the tokens and signatures of texts, and the further properties of errors", () => {
    const [line] = logged(
      'log.error({ err: Object.assign(new Error("GET /a?X-Amz-Signature=0badc0de"), { config: "hush" }) }, "Bearer abcdefgh")',
    );
    expect(line?.["msg"]).toBe("Bearer [hidden]");
    expect(line?.["err"]).toMatchObject({ message: "GET /a?X-Amz-Signature=[hidden]" });
    expect(JSON.stringify(line)).not.toMatch(/0badc0de|hush|abcdefgh/);
  });

  test("has the beginning and the end of the texts of an error, however much a stranger wrote into them", () => {
    const [line] = logged('log.error({ err: new Error(`refused ${"x".repeat(1_000_000)}`) }, "call")');
    expect(line?.["err"]).toMatchObject({
      message: expect.stringMatching(/^refused x{8184}… \(1000008 characters\) …x{8192}$/),
      stack: expect.stringMatching(/^Error: refused x+… \(\d+ characters\) …x+\n {4}at .+/),
    });
  });

  test("for people hides as much", () => {
    const log = join(import.meta.dirname, "..", "..", "..", "services", "kit", "log", "log.ts");
    const source = `import { createLogger } from ${JSON.stringify(log)}; const log = createLogger({ name: "sample", pretty: true }); log.info({ token: "hush", url: "?X-Amz-Signature=0badc0de" }, "Bearer abcdefgh");`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", source], { encoding: "utf8" });
    expect(stdout).toContain("sample: Bearer [hidden]");
    expect(stdout).not.toMatch(/0badc0de|hush|abcdefgh/);
  });

  test("carries the trace in which it is written", () => {
    const tracedCall = join(import.meta.dirname, "..", "..", "..", "services", "kit", "trace", "traced-call.ts");
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const lines = logged(
      `const { TracedCall } = await import(${JSON.stringify(tracedCall)}); log.info("before"); new TracedCall("sample", "server", { traceparent: "${traceparent}" }).run(() => log.info("within"));`,
    );
    expect(lines.map((line) => line["trace_id"])).toEqual([undefined, "0af7651916cd43dd8448eb211c80319c"]);
  });

  test("that is fatal comes after the lines before it, however long their writing takes", () => {
    const lines = logged(
      `const { pbkdf2 } = await import("node:crypto"); for (let job = 0; job < 4; job += 1) pbkdf2("", "", 500_000, 64, "sha512", () => {}); log.info("first"); log.fatal("second"); log.info("third"); log.fatal("fourth");`,
    );
    expect(lines.map((line) => line["msg"])).toEqual(["first", "second", "third", "fourth"]);
  });

  test("is written although the process exits at once, like all lines before it", () => {
    const lines = logged("for (let count = 0; count < 1_000; count += 1) log.info({ count }); process.exit(0)");
    expect(lines.map(({ count }) => count)).toEqual(Array.from({ length: 1_000 }, (_, count) => count));
  });

  test("is left out below the level", () => {
    expect(logged('log.debug("no"); log.info("yes")').map((line) => line["msg"])).toEqual(["yes"]);
  });
});
