import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

import type { OutputAsset, OutputChunk, Plugin } from "rolldown";

import {
  builtinObjects,
  lazyErrorHeaders,
  lazyFieldDescriptors,
  lazyFields,
  lazyHttp2Client,
  lazyUndici,
  mainPromise,
  nativeLevel,
  onlyFirstParser,
} from "./bundle-plugins.ts";
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

/** Packages that are loaded by themselves: the clients of brokers, which few installations need. */
const external = [
  "@nats-io/jetstream",
  "@nats-io/transport-node",
  "amqplib",
  "@redis/client",
  "pg",
  "@platformatic/kafka",
];

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

/** Makes the bundles of a program and of its threads; returns the names of their files. */
const makeBundle = async (
  rolldown: typeof import("rolldown"),
  [program, script]: readonly [string, string],
): Promise<readonly string[]> => {
  const scripts = Object.entries({ [program]: script, ...threads[program] });
  const made = await Promise.all(scripts.map(([name, source]) => makeScript(rolldown, name, join(root, source))));
  const output = made.flat();
  const manifest = `${program}.json`;
  // Without it the sources run, and not a part of the new bundle with a part of the old one.
  await rm(join(directory, manifest), { force: true });
  for (const file of output) await replace(file.fileName, file.type === "chunk" ? inAscii(file) : file.source);
  const modules = output.flatMap((file) => (file.type === "chunk" ? Object.keys(file.modules) : []));
  const inputs = await Promise.all([...inputsOf(modules)].toSorted().map(describe));
  await replace(manifest, `${JSON.stringify(inputs)}\n`);
  return [manifest, ...output.map(({ fileName }) => fileName)];
};

/** Makes the bundle of one script: its own file, one for each part that is loaded when it is used, and their maps. */
const makeScript = async (
  { rolldown }: typeof import("rolldown"),
  name: string,
  script: string,
): Promise<readonly (OutputChunk | OutputAsset)[]> => {
  const bundle = await rolldown({
    input: { [name]: script },
    platform: "node",
    // Modules that the script shares with parts of it are in its own file, in which a call of them costs least.
    preserveEntrySignatures: "allow-extension",
    external,
    plugins: [
      builtinObjects,
      lazyUndici(name),
      onlyFirstParser,
      lazyHttp2Client,
      lazyErrorHeaders,
      lazyFields,
      lazyFieldDescriptors,
      nativeLevel(directory),
      mainPromise(script),
      ownDirectories,
    ],
    // The builds of packages that allow to leave out what is not used.
    resolve: { mainFields: ["module", "main"] },
  });
  const { output } = await bundle.generate({
    format: "cjs",
    comments: false,
    sourcemap: "hidden",
    sourcemapExcludeSources: true,
    entryFileNames: "[name].cjs",
    chunkFileNames: `${name}-[name].cjs`,
  });
  await bundle.close();
  return output;
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
