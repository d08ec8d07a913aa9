"use strict";

// Runs a bundle with the code that V8 compiled at an earlier start, of functions as well: of modules the platform keeps
// only what is compiled before anything has run, and compiling the functions is a third of a start.

const { createHash } = require("node:crypto");
const { readFileSync, renameSync, writeFileSync } = require("node:fs");
const { Module, createRequire, getCompileCacheDir } = require("node:module");
const { dirname, join } = require("node:path");
const { setFlagsFromString } = require("node:v8");
const { Script } = require("node:vm");

/** Before the code in its file: a digest of it and of what it was compiled of. V8 runs damaged code as it is. */
const digestBytes = 32;
/** How soon after the start the code is kept: when the other processes have started, too. */
const keepAfterMs = 1_000;

const head = Buffer.from("(function (exports, require, module, __filename, __dirname) {");
const tail = Buffer.from("\n})");

const digestOf = (contents, code) => createHash("sha256").update(contents).update(code).digest();

/** The code of an earlier start; undefined if there is none of this bundle that is undamaged. */
const readCode = (file, contents) => {
  try {
    const kept = readFileSync(file);
    const code = kept.subarray(digestBytes);
    return kept.subarray(0, digestBytes).equals(digestOf(contents, code)) ? code : undefined;
  } catch {
    return undefined;
  }
};

/** Where it cannot be written, code is compiled at each start. */
const writeCode = (file, contents, code) => {
  try {
    writeFileSync(`${file}.${process.pid}`, Buffer.concat([digestOf(contents, code), code]), { mode: 0o600 });
    renameSync(`${file}.${process.pid}`, file);
  } catch {}
};

/**
 * Runs the bundle at a path; `contents` is the list of what it was made of. Calls `started` when the program has
 * started, and has all of its code.
 */
exports.runBundle = (path, contents, started) => {
  const directory = getCompileCacheDir();
  const file = directory && join(directory, `${createHash("sha256").update(path).digest("hex").slice(0, 16)}.code`);
  const cachedData = file && readCode(file, contents);
  const source = Buffer.concat([head, readFileSync(path), tail]).latin1Slice();
  const script = new Script(source, { filename: path, cachedData });
  const isCompiled = cachedData !== undefined && !script.cachedDataRejected;
  // The code of functions that ran only once is kept, too.
  if (!isCompiled) setFlagsFromString("--no-flush-bytecode");
  let isKept = isCompiled;
  const keep = () => {
    if (isKept) return;
    isKept = true;
    // V8 accepts code only with the flags with which it was made.
    setFlagsFromString("--flush-bytecode");
    if (file !== undefined) writeCode(file, contents, script.createCachedData());
    started();
  };
  const module = new Module(path);
  module.filename = path;
  module.loaded = true;
  // Its parts that are loaded later require it.
  require.cache[path] = module;
  script.runInThisContext()(module.exports, createRequire(path), module, path, dirname(path));
  void module.exports.ended.then(() => {
    if (isCompiled) return started();
    setTimeout(keep, keepAfterMs).unref();
    process.once("exit", keep);
  });
};
