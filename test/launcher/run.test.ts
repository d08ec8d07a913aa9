import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { temporaryDirectory } from "../support/temporary-directory.ts";

const root = join(import.meta.dirname, "..", "..");
const scripts = ["services/launcher/node-version.cjs", "services/launcher/run-bundle.cjs"];
const source = 'console.log("source", ...process.argv.slice(2));\n';

const bundleOf = (text: string): string => `exports.ended = (async () => { ${text} })();`;

/** A checkout with a program of one source, and with the bundle that was made of it. */
const checkout = async (): Promise<string> => {
  const directory = await temporaryDirectory();
  for (const each of ["services/launcher", "services/event-bus", "dist"])
    await mkdir(join(directory, each), { recursive: true });
  for (const each of ["package.json", "services/run.cjs", ...scripts])
    await copyFile(join(root, each), join(directory, each));
  const path = "services/event-bus/main.ts";
  await writeFile(join(directory, path), source);
  const { size, mtimeMs } = await stat(join(directory, path));
  const digest = createHash("sha256").update(source).digest("hex");
  await writeFile(join(directory, "dist/event-bus.cjs"), bundleOf(source.replace("source", "bundle")));
  await writeFile(join(directory, "dist/event-bus.json"), JSON.stringify([[path, size, mtimeMs, digest]]));
  return directory;
};

const run = (directory: string): string =>
  execFileSync(process.execPath, [join(directory, "services/run.cjs"), "event-bus", "--flag", "value"], {
    encoding: "utf8",
    env: { ...process.env, XDG_CACHE_HOME: join(directory, "caches") },
  }).trim();

const longAgo = new Date("2001-02-03");

// what was done to the checkout, what runs
test.each([
  ["is as the bundle was made", async () => undefined, "bundle"],
  ["was touched", (path: string) => utimes(join(path, "services/event-bus/main.ts"), longAgo, longAgo), "bundle"],
  [
    "has an edited source of the same size",
    (path: string) => writeFile(join(path, "services/event-bus/main.ts"), source.replace("source", "edited")),
    "edited",
  ],
  [
    "has a longer source",
    (path: string) => writeFile(join(path, "services/event-bus/main.ts"), `\n${source}`),
    "source",
  ],
  ["has no bundle", (path: string) => rm(join(path, "dist"), { recursive: true }), "source"],
  ["has half a bundle", (path: string) => rm(join(path, "dist/event-bus.json")), "source"],
])("a program whose checkout %s", async (_what, change, ran) => {
  const directory = await checkout();
  await change(directory);
  expect(run(directory)).toBe(`${ran} --flag value`);
});

test("compiled code is kept for the user, where only the user may read it", async () => {
  const directory = await checkout();
  run(directory);
  expect((await stat(join(directory, "caches/quartet/compile-cache"))).mode & 0o077).toBe(0);
});

const keptCode = async (directory: string): Promise<string> => {
  const paths = await readdir(join(directory, "caches"), { recursive: true });
  return join(directory, "caches", paths.find((path) => path.endsWith(".code")) ?? "none");
};

// what happened to the code that the first start kept, what runs then
test.each([
  ["stays", async () => undefined, "bundle"],
  ["is removed", (path: string) => rm(path), "bundle"],
  ["is cut off", (path: string) => truncate(path, 100), "bundle"],
  [
    "is damaged",
    async (path: string) => {
      const code = (await readFile(path)).toString("latin1");
      expect(code).toContain("bundle");
      await writeFile(path, code.replace("bundle", "broken"), "latin1");
    },
    "bundle",
  ],
  [
    "is of another bundle",
    async (_path: string, directory: string) => {
      await utimes(join(directory, "services/event-bus/main.ts"), longAgo, longAgo);
      const [row] = JSON.parse(await readFile(join(directory, "dist/event-bus.json"), "utf8")) as unknown[][];
      await writeFile(join(directory, "dist/event-bus.json"), JSON.stringify([row, row]));
      await writeFile(join(directory, "dist/event-bus.cjs"), bundleOf(source.replace("source", "latest")));
    },
    "latest",
  ],
])("a second start whose compiled code %s", async (_what, change, ran) => {
  const directory = await checkout();
  run(directory);
  const kept = await keptCode(directory);
  expect((await stat(kept)).mode & 0o777).toBe(0o600);
  await change(kept, directory);
  expect(run(directory)).toBe(`${ran} --flag value`);
});
