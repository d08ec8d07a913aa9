import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

import { temporaryDirectory } from "../../support/temporary-directory.ts";

const run = promisify(execFile);
const scriptNamed = (name: string): string =>
  join(import.meta.dirname, "..", "..", "..", "gateway", "exports", `${name}.ts`);
const script = scriptNamed("main");

test("the export writes a document and a model for each API, where loaders look for them", async () => {
  const directory = await temporaryDirectory();
  await run(process.execPath, [script, "--out", directory, "--brand-word", "acme"]);

  expect(
    (await readdir(directory, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
      .toSorted(),
  ).toEqual([
    "botocore/customer-profile/2026-01-01/paginators-1.json",
    "botocore/customer-profile/2026-01-01/service-2.json",
    "botocore/event-bus/2026-01-01/paginators-1.json",
    "botocore/event-bus/2026-01-01/service-2.json",
    "botocore/object-storage/2026-01-01/paginators-1.json",
    "botocore/object-storage/2026-01-01/service-2.json",
    "botocore/refactoring-workspace/2026-01-01/paginators-1.json",
    "botocore/refactoring-workspace/2026-01-01/service-2.json",
    "openapi/customer-profile.json",
    "openapi/event-bus.json",
    "openapi/object-storage.json",
    "openapi/refactoring-workspace.json",
  ]);
  expect(await readFile(join(directory, "openapi", "object-storage.json"), "utf8")).toContain("x-acme-copy-source");
});

test("the export without a directory says how it is called", async () => {
  await expect(run(process.execPath, [script])).rejects.toMatchObject({
    code: 2,
    stderr: "usage: npm run export -- --out DIR [--dialect svc|amz] [--brand-word WORD]\n",
  });
});

test.each([
  ["main", "usage: npm run export -- --out DIR [--dialect svc|amz] [--brand-word WORD]\n"],
  ["stubs-main", "usage: npm run stubs -- --out DIR [--python PATH] [--go-plugins DIR] [--go-module NAME]\n"],
  ["reference-main", "usage: npm run reference -- [--out DIR]\n"],
])("%s prints how it is called when it is asked, and for a flag that it does not have", async (name, usage) => {
  expect(await run(process.execPath, [scriptNamed(name), "--help"])).toEqual({ stdout: usage, stderr: "" });
  await expect(run(process.execPath, [scriptNamed(name), "--colour"])).rejects.toMatchObject({
    code: 2,
    stderr: `Unknown option '--colour'\n${usage}`,
  });
});

test("the export of stubs names what a Python without generators lacks", async () => {
  const out = await temporaryDirectory();
  await expect(
    run(process.execPath, [scriptNamed("stubs-main"), "--out", out, "--python", "false"]),
  ).rejects.toMatchObject({
    code: 1,
    stderr: "false has no grpcio-tools: install it there by pip, or name another Python by --python\n",
  });
});
