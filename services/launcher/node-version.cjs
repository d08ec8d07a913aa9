"use strict";

// Loaded before the TypeScript, in the syntax of old versions of Node, which could not read the rest.
const wanted = require("../../package.json").engines.node.replace(">=", "");
const parts = (version) => version.split(".").map(Number);
const [major, minor] = parts(process.versions.node);
const [wantedMajor, wantedMinor] = parts(wanted);
if (major < wantedMajor || (major === wantedMajor && minor < wantedMinor)) {
  process.stderr.write(
    `quartet: Node ${wanted} or later is needed, this is ${process.versions.node}; npm ci installs one for npm start\n`,
  );
  process.exit(2);
}
