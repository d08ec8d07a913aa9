import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, readdir, readFile, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import type { AuditEntry } from "../../../services/kit/audit/audit-log.ts";
import { AuditFiles } from "../../../services/kit/audit/audit-log.ts";
import type { Verified } from "../../../services/kit/audit/verify.ts";
import { verifyAuditFiles } from "../../../services/kit/audit/verify.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { openFilesBelow } from "../../support/open-files.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const entry = (resource: string): AuditEntry => ({
  requestId: "r-1",
  principal: "arn:aws:iam::000000000000:user/alice",
  method: "PutObject",
  action: "s3:PutObject",
  resource,
  decision: "allowed",
  reason: "identity-policy",
});

type Options = Partial<ConstructorParameters<typeof AuditFiles>[0]>;

const openLog = (directory: string, options: Options = {}): AuditFiles => {
  const limits = { fileBytesMax: 1024 * 1024, filesMax: 4 };
  const log = new AuditFiles({ directory, clock: new FakeClock(), log: silentLogger, ...limits, ...options });
  onTestFinished(() => log.close());
  return log;
};

/** Records these resources and closes. */
const recordAll = async (directory: string, resources: readonly string[], options?: Options): Promise<void> => {
  const log = openLog(directory, options);
  for (const resource of resources) log.record(entry(resource));
  await log.flush();
  log.close();
};

const pathsOf = async (directory: string): Promise<string[]> =>
  (await readdir(directory)).toSorted().map((name) => join(directory, name));
const linesOf = async (path: string): Promise<string[]> => (await readFile(path, "utf8")).trimEnd().split("\n");
const firstFile = (directory: string): string => join(directory, "audit-0000000000000001.jsonl");

/** The verification of a directory, with paths shortened to what distinguishes them. */
const verified = async (
  directory: string,
): Promise<Pick<Verified, "lines" | "first" | "torn"> & { broken: string }> => {
  const open = openFilesBelow(directory);
  const { lines, first, torn, broken } = await verifyAuditFiles(await pathsOf(directory));
  expect(openFilesBelow(directory)).toEqual(open);
  const short = (place: string): string => place.slice(directory.length + 1).replace(/^audit-0*(\d+)\.jsonl/, "$1");
  return { lines, first, torn: torn.map(short), broken: broken === undefined ? "" : short(broken.place) };
};

describe("the audit log", () => {
  test("goes on after a file that was begun and has no line, and leaves nothing open", async () => {
    const directory = await temporaryDirectory();
    await recordAll(directory, ["a"]);
    await writeFile(join(directory, "audit-0000000000000002.jsonl"), "");
    await recordAll(directory, ["b"]);
    expect(await verified(directory)).toEqual({ lines: 2, first: 1, torn: [], broken: "" });
    expect(openFilesBelow(directory)).toEqual([]);
  });

  test("is one line for each decision, in a chain from the first line on", async () => {
    const directory = await temporaryDirectory();
    await recordAll(directory, ["a", "b"]);
    const lines = (await linesOf(firstFile(directory))).map((line) => JSON.parse(line) as Record<string, string>);
    expect(lines).toEqual([
      {
        sequence: 1,
        time: "2026-01-02T03:04:05.000Z",
        ...entry("a"),
        previous: "",
        digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      },
      {
        sequence: 2,
        time: "2026-01-02T03:04:05.000Z",
        ...entry("b"),
        previous: lines[0]?.["digest"],
        digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      },
    ]);
    expect(await verified(directory)).toEqual({ lines: 2, first: 1, torn: [], broken: "" });
  });

  test("goes on where an earlier process ended", async () => {
    const directory = await temporaryDirectory();
    await recordAll(directory, ["a", "b"]);
    await recordAll(directory, ["c"]);
    expect(await verified(directory)).toEqual({ lines: 3, first: 1, torn: [], broken: "" });
  });

  test("begins new files by size, keeps some of them, and the chain leads from one to the next", async () => {
    const directory = await temporaryDirectory();
    const names = Array.from({ length: 40 }, (_, index) => `resource-${index}`);
    for (const name of names) await recordAll(directory, [name], { fileBytesMax: 2_000, filesMax: 3 });
    const paths = await pathsOf(directory);
    expect(paths).toHaveLength(3);
    const { lines, first, broken } = await verified(directory);
    expect([first > 1, first + lines, broken]).toEqual([true, 41, ""]);
    await rm(paths[1] ?? "");
    expect((await verified(directory)).broken).toMatch(/^\d+:1$/);
  });

  test("names a torn line of a process that was killed, and goes on after it", async () => {
    const directory = await temporaryDirectory();
    await recordAll(directory, ["a", "b"]);
    const path = firstFile(directory);
    await truncate(path, (await readFile(path)).length - 20);
    expect(await verified(directory)).toEqual({ lines: 1, first: 1, torn: ["1:2"], broken: "" });
    await recordAll(directory, ["c"]);
    expect(await verified(directory)).toEqual({ lines: 3, first: 1, torn: ["1:2"], broken: "" });
    expect((await linesOf(path))[2]).toContain('"event":"torn-line","bytes":');
  });

  test("goes on after a process that was killed when it had begun a file", async () => {
    const directory = await temporaryDirectory();
    await recordAll(directory, ["a"]);
    await writeFile(join(directory, "audit-0000000000000002.jsonl"), '{"seque');
    await recordAll(directory, ["b"]);
    expect(await verified(directory)).toEqual({ lines: 3, first: 1, torn: ["2:1"], broken: "" });
  });

  test("never waits for files that accept nothing: lines are dropped, counted, and the count is in the chain", async () => {
    const directory = await temporaryDirectory();
    const log = openLog(directory, { waitingBytesMax: 2_000 });
    for (let index = 0; index < 100; index++) log.record(entry(`resource-${index}`));
    await log.flush();
    log.record(entry("after"));
    await log.flush();
    const lines = (await linesOf(firstFile(directory))).map((line) => JSON.parse(line) as Record<string, unknown>);
    const dropped = lines.find(({ event }) => event === "dropped-lines");
    expect(Number(dropped?.["count"]) + lines.length - 2).toBe(100);
    expect(await verified(directory)).toMatchObject({ broken: "" });
  });

  test("writes lines soon after they are recorded, each of them once", async () => {
    const directory = await temporaryDirectory();
    const { log: errors, lines } = capturingLogger();
    const log = openLog(directory, { log: errors });
    for (const [count, resource] of ["a", "b", "c"].entries()) {
      log.record(entry(resource));
      await eventually(
        async () => (await readFile(firstFile(directory), "utf8")).split("\n").length > count + 1,
        resource,
      );
    }
    expect(await verified(directory)).toEqual({ lines: 3, first: 1, torn: [], broken: "" });
    expect(lines).toEqual([]);
  });

  test("gathers lines for one write until they are many or a flush waits for them", async () => {
    const directory = await temporaryDirectory();
    const log = openLog(directory, { gatherMs: 3_600_000 });
    const sizeBytes = async (): Promise<number> => (await stat(firstFile(directory))).size;
    for (const resource of ["a", "b"]) {
      log.record(entry(resource));
      await new Promise(setImmediate);
    }
    expect(await sizeBytes()).toBe(0);
    await log.flush();
    expect(await linesOf(firstFile(directory))).toHaveLength(2);
    for (let index = 0; index < 200; index++) log.record(entry(`resource-${index}`));
    await eventually(async () => (await sizeBytes()) > 64 * 1024, "64 KiB are written at once");
  });

  test("says once that its file cannot be written, and drops what there is no room for", async () => {
    const directory = await temporaryDirectory();
    await symlink("/dev/full", firstFile(directory));
    const { log: errors, lines } = capturingLogger();
    const log = openLog(directory, { log: errors, waitingBytesMax: 2_000 });
    for (let round = 0; round < 3; round++) {
      log.record(entry(`resource-${round}`));
      void log.flush();
      await eventually(() => lines.length > 0, "the error is logged");
    }
    for (let index = 0; index < 100; index++) log.record(entry(`resource-${index}`));
    expect(lines).toMatchObject([
      { err: { code: "ENOSPC" }, msg: "the audit log cannot be written; lines wait, then they are dropped" },
    ]);
  });

  test("survives a kill: the chain goes on over the torn line and over files", async () => {
    const directory = await temporaryDirectory();
    for (let round = 0; round < 3; round++) {
      const child = spawn(process.execPath, [join(import.meta.dirname, "recording-process.ts"), directory]);
      await once(child.stdout, "data");
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await recordAll(directory, ["after"]);
    const { lines, first, broken } = await verified(directory);
    expect([lines > 100, first, broken]).toEqual([true, 1, ""]);
  });

  test("is readable by its owner alone", async () => {
    const directory = join(await temporaryDirectory(), "audit");
    await recordAll(directory, ["a"]);
    expect([(await stat(directory)).mode & 0o777, (await stat(firstFile(directory))).mode & 0o777]).toEqual([
      0o700, 0o600,
    ]);
  });

  test("cuts long resources", async () => {
    const directory = await temporaryDirectory();
    await recordAll(directory, ["x".repeat(10_000)]);
    expect((await readFile(firstFile(directory), "utf8")).length).toBeLessThan(3_000);
  });
});

describe("verification names the first broken line", () => {
  const changeLines = async (change: (lines: string[]) => readonly string[]): Promise<string> => {
    const directory = await temporaryDirectory();
    await recordAll(directory, ["a", "b", "c", "d"]);
    const path = firstFile(directory);
    await writeFile(path, `${change(await linesOf(path)).join("\n")}\n`);
    return (await verified(directory)).broken;
  };

  // what was done to the lines | the broken line
  test.each<[string, (lines: string[]) => readonly string[], string]>([
    ["nothing", (lines) => lines, ""],
    ["a changed word", (lines) => lines.map((line) => line.replace('"resource":"b"', '"resource":"z"')), "1:2"],
    ["a changed last line", (lines) => lines.map((line) => line.replace('"resource":"d"', '"resource":"z"')), "1:4"],
    ["a removed line", ([a, , c, d]) => [a, c, d].map(String), "1:2"],
    ["two exchanged lines", ([a, b, c, d]) => [a, c, b, d].map(String), "1:2"],
    ["a repeated line", ([a, b, c, d]) => [a, b, b, c, d].map(String), "1:3"],
    ["a line that is none", ([a, b, c, d]) => [a, "{}", b, c, d].map(String), "1:2"],
    ["removed first lines", ([, , c, d]) => [c, d].map(String), ""],
  ])("after %s", async (_what, change, broken) => {
    expect(await changeLines(change)).toBe(broken);
  });

  test("and leaves nothing open, although the file goes on", async () => {
    const directory = await temporaryDirectory();
    await recordAll(directory, ["a"]);
    await appendFile(firstFile(directory), "{}\n".repeat(100_000));
    expect((await verified(directory)).broken).toBe("1:2");
    expect(openFilesBelow(directory)).toEqual([]);
  });

  test("where a chain was begun again, because its last line could not be read", async () => {
    const directory = await temporaryDirectory();
    await recordAll(directory, ["a"]);
    await appendFile(firstFile(directory), "{}\n");
    await recordAll(directory, ["b"]);
    expect((await verified(directory)).broken).toBe("1:2");
  });
});
