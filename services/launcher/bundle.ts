import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isBuiltin } from "node:module";

import type { OutputChunk, Plugin } from "rolldown";

import { processes, processNames } from "./processes.ts";

/**
 * Makes a bundle of each process and of the launcher: its sources and the packages that it uses, translated to
 * JavaScript, in one file. A process starts from it in a fraction of the time and memory that its hundreds of modules
 * need (services/run.cjs). `npm ci` runs this; without development packages nothing is made, and the sources run.
 */
const root = join(import.meta.dirname, "..", "..");
const directory = join(root, "dist");

/** The scripts of the programs, from the root of the repository. */
const programs: ReadonlyMap<string, string> = new Map([
  ["launch", "services/launch.ts"],
  ...processNames.map((name) => [name, processes[name].script] as const),
]);

/** The scripts of the threads of a program, which have bundles of their own. */
const threads: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "object-storage": { "object-storage-scan": "services/object-storage/select/worker/scan-worker.ts" },
};

/** Packages that are loaded by themselves: one with a native part, and the clients of brokers that few need. */
const external = [
  "classic-level",
  "@nats-io/jetstream",
  "@nats-io/transport-node",
  "amqplib",
  "@redis/client",
  "pg",
  "@platformatic/kafka",
];

/**
 * Imports Node's modules as objects. As namespaces all their members would be read, also those by which `node:http`
 * loads an HTTP client that no process uses: 40 ms and 7 MiB for each.
 */
const builtinObjects: Plugin = {
  name: "builtin-objects",
  // The bundler's own code needs this one as a namespace.
  resolveId: (id) => (isBuiltin(id) && id !== "node:module" ? `\0${id}` : null),
  load: (id) =>
    id.startsWith("\0") && isBuiltin(id.slice(1))
      ? `module.exports = process.getBuiltinModule(${JSON.stringify(id.slice(1))});`
      : null,
};

/** Keeps what a source means by its own directory. */
const ownDirectories: Plugin = {
  name: "own-directories",
  transform: {
    filter: { code: "import.meta.dirname", id: /\.ts$/ },
    handler: (code, id) => {
      const place = JSON.stringify(relative(directory, dirname(id)));
      const own = `process.getBuiltinModule("node:path").join(import.meta.dirname, ${place})`;
      return { code: code.replaceAll("import.meta.dirname", own), map: null };
    },
  },
};

const main = async (): Promise<void> => {
  const rolldown = await import("rolldown").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  });
  if (rolldown === undefined) return;
  await mkdir(directory, { recursive: true });
  const made = await Promise.all(programs.entries().map((program) => makeBundle(rolldown, program)));
  const current = new Set(made.flat());
  for (const name of await readdir(directory)) if (!current.has(name)) await rm(join(directory, name));
};

/** Makes the bundle of a program; returns the names of its files. */
const makeBundle = async (
  { rolldown }: typeof import("rolldown"),
  [program, script]: readonly [string, string],
): Promise<readonly string[]> => {
  const bundle = await rolldown({
    input: Object.fromEntries(
      Object.entries({ [program]: script, ...threads[program] }).map(([name, source]) => [name, join(root, source)]),
    ),
    platform: "node",
    external,
    plugins: [builtinObjects, ownDirectories],
    // The builds of packages that allow to leave out what is not used.
    resolve: { mainFields: ["module", "main"] },
  });
  const { output } = await bundle.generate({
    format: "esm",
    comments: false,
    sourcemap: "hidden",
    sourcemapExcludeSources: true,
    entryFileNames: "[name].mjs",
    chunkFileNames: `${program}-[name].mjs`,
  });
  await bundle.close();
  const manifest = `${program}.json`;
  // Without it the sources run, and not a part of the new bundle with a part of the old one.
  await rm(join(directory, manifest), { force: true });
  for (const file of output) await replace(file.fileName, file.type === "chunk" ? inAscii(file) : file.source);
  const modules = output.flatMap((file) => (file.type === "chunk" ? Object.keys(file.modules) : []));
  const inputs = await Promise.all([...inputsOf(modules)].toSorted().map(describe));
  await replace(manifest, `${JSON.stringify(inputs)}\n`);
  return [manifest, ...output.map(({ fileName }) => fileName)];
};

/** Writes a file whole or not at all. */
const replace = async (name: string, content: string | Uint8Array): Promise<void> => {
  const path = join(directory, name);
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
};

/** The code with other characters escaped: V8 keeps the text of a script, and one such character doubles its size. */
const inAscii = ({ code }: OutputChunk): string =>
  code.replaceAll(/[^\0-\x7F]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The files that decide what a bundle contains: its sources, and what names the versions of its packages. */
const inputsOf = (modules: readonly string[]): ReadonlySet<string> => {
  const inputs = new Set([relative(root, import.meta.filename)]);
  for (const module of modules) {
    if (module.startsWith("\0")) continue;
    const [, packageName] = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(module) ?? [];
    if (packageName === undefined) inputs.add(relative(root, module));
    else inputs.add(join("node_modules", packageName, "package.json"));
  }
  return inputs;
};

/** A row of the manifest: the path from the root of the repository, size, time of the last change, digest. */
const describe = async (path: string): Promise<readonly [string, number, number, string]> => {
  const { size, mtimeMs } = await stat(join(root, path));
  const content = await readFile(join(root, path));
  return [path, size, mtimeMs, createHash("sha256").update(content).digest("hex")];
};

await main();
