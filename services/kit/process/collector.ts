import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects garbage before it returns: of new objects, or all of it to give memory back to the system. */
export type Collector = (options: {
  readonly type: "minor" | "major";
  readonly execution: "sync";
  readonly flavor?: "last-resort";
}) => void;

let known: Collector | undefined;

/** V8's own collections, which a flag exposes to new contexts. */
export const collector = (): Collector => {
  if (known === undefined) {
    setFlagsFromString("--expose-gc");
    known = runInNewContext("gc") as Collector;
  }
  return known;
};
