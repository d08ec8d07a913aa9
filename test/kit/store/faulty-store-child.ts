// Run by the test of disk errors. Opens the store in a directory and commits transactions one after the other, also
// after one was refused; then reads what was answered. Prints a line for each step:
//
//   opened | <number> answered | <number> refused <error> | read | unread <error> | ended <error>
//
//   node faulty-store-child.ts <directory> <first name's number> <commits> <bytes of a record>
import { writeSync } from "node:fs";

import { openStore } from "../../../services/kit/store/store.ts";
import { commitParts, surveyParts } from "./parts.ts";

const [directory, first, commits, bytes] = process.argv.slice(2) as [string, string, string, string];
const say = (line: string): void => void writeSync(1, `${line}\n`);
const nameOf = (error: unknown): string => (error as Error).name;

try {
  const store = await openStore({ directory });
  say("opened");
  for (let number = Number(first); number < Number(first) + Number(commits); number += 1)
    await commitParts(store, number, Number(bytes)).then(
      () => say(`${number} answered`),
      (error: unknown) => say(`${number} refused ${nameOf(error)}`),
    );
  const read = await surveyParts(store, Number(bytes)).catch(nameOf);
  say(typeof read === "string" ? `unread ${read}` : "read");
  await store.close();
} catch (error) {
  say(`ended ${nameOf(error)}`);
}
