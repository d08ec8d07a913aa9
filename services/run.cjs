"use strict";

// Runs one program of the installation: `node services/run.cjs launch --data-dir /srv/quartet`. It runs from its bundle
// if that was made of the sources as they are now, and from the sources otherwise. In plain JavaScript, because it runs
// before anything could be translated.
// oxlint-disable-next-line import/no-unassigned-import -- it ends the process where Node is too old, and has no value.
require("./launcher/node-version.cjs");

const { createHash } = require("node:crypto");
const { readFileSync, statSync } = require("node:fs");
const { enableCompileCache, flushCompileCache } = require("node:module");
const { homedir } = require("node:os");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");
const { setFlagsFromString } = require("node:v8");

const root = join(__dirname, "..");

/** The script of a program: the launcher's, the gateway's, or a service's. */
const sourceOf = (program) => {
  if (program === "launch") return join(__dirname, "launch.ts");
  return program === "gateway" ? join(root, "gateway", "main.ts") : join(__dirname, program, "main.ts");
};

const ifPresent = { throwIfNoEntry: false };

/** Whether a file is as it was when the bundle was made: by its size and time, or by its content. */
const isUnchanged = ([path, size, modifiedMs, digest]) => {
  // Joining 500 paths would take longer than asking for the files.
  const file = `${root}/${path}`;
  const stats = statSync(file, ifPresent);
  if (stats === undefined || stats.size !== size) return false;
  return stats.mtimeMs === modifiedMs || createHash("sha256").update(readFileSync(file)).digest("hex") === digest;
};

/** What the bundle of a program was made of; undefined if there is none or one of its sources has changed since. */
const findContents = (program) => {
  try {
    const contents = readFileSync(join(root, "dist", `${program}.json`), "utf8");
    return JSON.parse(contents).every(isUnchanged) ? contents : undefined;
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
};

// Also for what is stored before a process runs its first line, such as compiled code.
process.umask(0o077);
// Compiled code is kept for the user, because it is executed, and outside the data directory, because no backup needs
// it. Where it cannot be written, code is compiled at each start.
if (!process.env.NODE_COMPILE_CACHE)
  enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "quartet", "compile-cache"));

/** Called when the program has started. */
const started = () => {
  // Kept now, for a process that is killed.
  flushCompileCache();
  // Buffers count in the limit of the heap, and have none of their own: with it V8 marks the whole heap for each 64 MiB
  // that a connection reads, although the buffers before them are garbage that the quick collection finds. Not before
  // the start: with other flags V8 refuses all compiled code, also what Node ships for its own modules.
  setFlagsFromString("--external-memory-accounted-in-global-limit");
};

const [program = ""] = process.argv.splice(2, 1);
const contents = findContents(program);
process.argv[1] = contents === undefined ? sourceOf(program) : join(root, "dist", `${program}.cjs`);
if (contents === undefined) void import(pathToFileURL(process.argv[1]).href).then(started);
else require("./launcher/run-bundle.cjs").runBundle(process.argv[1], contents, started);
