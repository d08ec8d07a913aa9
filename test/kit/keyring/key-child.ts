// Run by the test that traces the disk calls for master keys. Prints the version of the key that each step returns.
//
//   node key-child.ts <file of master keys> open|add…
import { writeSync } from "node:fs";

import { addMasterKey, openMasterKeys } from "../../../services/kit/keyring/master-keys.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";

const [path, ...steps] = process.argv.slice(2) as [string, ...string[]];
for (const step of steps) {
  const key = step === "add" ? await addMasterKey(path) : (await openMasterKeys(path, { clock: systemClock })).latest();
  writeSync(1, `key ${key.version}\n`);
}
