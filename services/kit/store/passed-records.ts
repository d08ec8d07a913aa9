import type { Logger } from "../log/log.ts";
import type { OnPassed } from "./view-reader.ts";

/** Keys that are remembered, so that each is logged once; of more, nothing is logged. */
const loggedMax = 1_000;

/** Logs each record that walks pass because its key is damaged, once while the store is open. */
export const passedRecords = (log: Logger | undefined): OnPassed => {
  const logged = new Set<string>();
  return ({ name }, key) => {
    const hex = Buffer.from(key).toString("hex");
    if (logged.size >= loggedMax || logged.has(hex)) return;
    logged.add(hex);
    log?.error({ table: name, key: hex }, "a record with a damaged key is passed");
    if (logged.size === loggedMax) log?.error("further records with damaged keys are passed and not logged");
  };
};
