"use strict";

// Notes which of Node's own modules a process of an installation has loaded, next to its data, when SIGUSR2 asks for it.
const { renameSync, writeFileSync } = require("node:fs");
const { basename, join } = require("node:path");

const dataDir = process.argv.find((argument) => argument.startsWith("--data-dir="))?.slice("--data-dir=".length);
if (dataDir !== undefined)
  process.on("SIGUSR2", () => {
    const path = join(dataDir, `modules-${basename(process.argv[1] ?? "", ".cjs")}`);
    writeFileSync(`${path}.new`, JSON.stringify(process.moduleLoadList));
    renameSync(`${path}.new`, path);
  });
