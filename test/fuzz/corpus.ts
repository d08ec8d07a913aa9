import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { FuzzTarget } from "./target.ts";

const pathOf = (name: string): string => join(import.meta.dirname, "corpus", `${name}.jsonl`);

/** The kept inputs of a target, one JSON string a line with one character for each byte; then its seeds. */
export const readCorpus = ({ name, seeds }: FuzzTarget): Buffer[] => {
  const path = pathOf(name);
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
  const kept = lines.map((line) => Buffer.from(JSON.parse(line) as string, "latin1"));
  return [...kept, ...seeds.map((seed) => Buffer.from(seed))];
};

export const writeCorpus = (name: string, inputs: readonly Uint8Array[]): void =>
  writeFileSync(pathOf(name), inputs.map((input) => `${textOf(input)}\n`).join(""));

/** An input as a line of a corpus. */
export const textOf = (input: Uint8Array): string =>
  JSON.stringify(Buffer.from(input).toString("latin1")).replaceAll(
    /[\u007f-\u00ff]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  );
