// Run by the tests of kills and of power loss. Opens the store in a directory and commits transactions, each of three
// records under one name; writes the name on standard output when the commit was answered.
//
//   node store-child.ts <directory> <sync|no-sync> <first name's number> <commits; 0: until killed> <bytes of a record>
import { writeSync } from "node:fs";

import { openStore } from "../../../services/kit/store/store.ts";
import { commitParts } from "./parts.ts";

const [directory, sync, first, commits, bytes] = process.argv.slice(2) as [string, string, string, string, string];
const store = await openStore({ directory, sync: sync === "sync" });
const end = commits === "0" ? Number.POSITIVE_INFINITY : Number(first) + Number(commits);
let next = Number(first);
const caller = async (): Promise<void> => {
  while (next < end) {
    const number = next++;
    await commitParts(store, number, Number(bytes));
    writeSync(1, `${number}\n`);
  }
};
await Promise.all([caller(), caller(), caller(), caller()]);
await store.close();
