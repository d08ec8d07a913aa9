import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, test } from "vitest";

import type { ContentCopy } from "../../../services/kit/backup/content-copy.ts";
import { copyContent } from "../../../services/kit/backup/content-copy.ts";
import { openFilesBelow } from "../../support/open-files.ts";
import { canMount, smallDisk } from "../../support/small-disk.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { canTrace, stepsOf, traceCalls } from "../store/traced-disk.ts";

const child = fileURLToPath(new URL("content-copy-child.ts", import.meta.url));

/** A copy of files, each of which holds its own path, from a directory of its own. */
const startCopy = async (paths: readonly string[], changes: Partial<ContentCopy> = {}) => {
  const base = await temporaryDirectory();
  const from = join(base, "from");
  for (const path of paths) {
    mkdirSync(dirname(join(from, path)), { recursive: true });
    writeFileSync(join(from, path), path);
  }
  const reports: string[] = [];
  const copy: ContentCopy = {
    files: (async function* () {
      for (const path of paths) yield { path, sizeBytes: path.length };
    })(),
    count: paths.length,
    from,
    to: join(base, "to"),
    stage: join(base, "stage"),
    isLinked: false,
    content: {
      fileOf: () => undefined,
      openCheck: async (directory) => async (file) => {
        if (readFileSync(join(directory, file.path), "utf8") !== file.path) throw new Error("it was changed");
      },
    },
    signal: new AbortController().signal,
    report: (progress) => reports.push(progress),
    ...changes,
  };
  return { base, copy, reports };
};

const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .toSorted();

describe("a copy of content", () => {
  test("has every file once, says little about a quick one, and leaves nothing open", async () => {
    const { base, copy, reports } = await startCopy(["aa/1", "aa/2", "bb/3"]);
    expect(await copyContent(copy)).toEqual({ files: 3, bytes: 12, damages: [] });
    expect([filesBelow(copy.to), filesBelow(copy.stage)]).toEqual([["aa/1", "aa/2", "bb/3"], []]);
    expect([reports, openFilesBelow(base)]).toEqual([[], []]);
    const again = await startCopy(["aa/1"], { to: copy.to });
    expect(await copyContent(again.copy)).toEqual({ files: 0, bytes: 0, damages: [] });
  });

  test("leaves out what is missing or damaged at its source", async () => {
    const { copy } = await startCopy(["aa/1", "aa/2"]);
    writeFileSync(join(copy.from, "aa/1"), "xxxx");
    const files = (async function* () {
      for (const path of ["aa/1", "aa/2", "aa/3"]) yield { path, sizeBytes: 4 };
    })();
    const { damages } = await copyContent({ ...copy, files });
    expect(damages.toSorted((one, other) => one.subject.localeCompare(other.subject))).toEqual([
      { subject: "aa/1", reason: "it was changed" },
      { subject: "aa/3", reason: "its file is missing" },
    ]);
    expect([filesBelow(copy.to), filesBelow(copy.stage)]).toEqual([["aa/2"], []]);
  });

  test("ends where a source cannot be read, which is no damage", async () => {
    const { copy } = await startCopy(["aa/1"]);
    mkdirSync(join(copy.from, "aa/2"));
    const files = (async function* () {
      yield { path: "aa/2", sizeBytes: 4 };
    })();
    await expect(copyContent({ ...copy, files })).rejects.toMatchObject({ code: "EISDIR" });
  });

  test("ends where it cannot be seen what the target has", async () => {
    const { copy, base } = await startCopy(["aa/1"]);
    mkdirSync(copy.to);
    writeFileSync(join(copy.to, "aa"), "a file where a directory belongs");
    await expect(copyContent(copy)).rejects.toMatchObject({ code: "ENOTDIR", syscall: "stat" });
    expect(filesBelow(base)).toEqual(["from/aa/1", "to/aa"]);
  });

  test("copies nothing after it was given up", async () => {
    const { copy, base } = await startCopy(["aa/1"], { signal: AbortSignal.abort(new Error("given up")) });
    await expect(copyContent(copy)).rejects.toThrow("given up");
    expect(filesBelow(base)).toEqual(["from/aa/1"]);
  });

  test("has the files themselves where they can be linked", async () => {
    const { copy } = await startCopy(["aa/1"], { isLinked: true });
    await copyContent(copy);
    expect(statSync(join(copy.to, "aa/1")).ino).toBe(statSync(join(copy.from, "aa/1")).ino);
  });
});

test.skipIf(!canMount())(
  "what cannot be linked, on another file system, is copied (only root may mount one)",
  async () => {
    const to = await smallDisk(4);
    const { copy } = await startCopy(["aa/1"], { isLinked: true, to, stage: join(to, "stage") });
    expect((await copyContent(copy)).files).toBe(1);
    expect(statSync(join(to, "aa/1")).dev).not.toBe(statSync(join(copy.from, "aa/1")).dev);
  },
);

test("a link that fails for another reason ends the copy", async () => {
  const { copy } = await startCopy(["aa/1"], { isLinked: true });
  mkdirSync(join(copy.stage, "aa"), { recursive: true });
  writeFileSync(join(copy.stage, "aa/1"), "left by a copy that was ended");
  await expect(copyContent(copy)).rejects.toMatchObject({ code: "EEXIST", syscall: "link" });
});

describe.skipIf(!canTrace())("what a copy has synced when it ends (through strace)", () => {
  /** The calls for the target and the stage of a copy by a process of its own, with paths below its directory. */
  const stepsOfCopy = ({ base, copy }: Awaited<ReturnType<typeof startCopy>>, ...paths: string[]): string[] => {
    const calls = traceCalls([process.execPath, child, copy.from, copy.to, copy.stage, ...paths], join(base, "calls"));
    return stepsOf(calls)
      .filter(({ name, path }) => path.startsWith(copy.to) || path.startsWith(copy.stage) || name === "fsync")
      .map(({ name, path }) => `${name} ${path.slice(base.length + 1)}`);
  };

  test("is every file, its name and the names of the directories above it", async () => {
    const steps = stepsOfCopy(await startCopy(["aa/1", "bb/2"]), "aa/1", "bb/2");
    expect(steps.filter((step) => step.includes("aa/1"))).toEqual(["fdatasync stage/aa/1", "rename stage/aa/1"]);
    expect(steps.slice(-4).toSorted()).toEqual(["fsync ", "fsync to", "fsync to/aa", "fsync to/bb"]);
  });

  test("is also the name of a file that a copy left which was ended before it had synced it", async () => {
    const started = await startCopy(["aa/1"]);
    mkdirSync(join(started.copy.to, "aa"), { recursive: true });
    writeFileSync(join(started.copy.to, "aa/1"), "aa/1");
    expect(stepsOfCopy(started, "aa/1").toSorted()).toEqual(["fsync ", "fsync to", "fsync to/aa"]);
  });
});
