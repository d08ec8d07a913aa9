import { once } from "node:events";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { createInterface } from "node:readline";

import type { ChainEnd } from "./audit-line.ts";
import { readLine } from "./audit-line.ts";

/** The outcome of reading a chain. */
export interface Verified {
  /** Whole lines. */
  readonly lines: number;
  /** The number of the first line; over 1 where older files are gone. 0: there is no line. */
  readonly first: number;
  readonly end: ChainEnd | undefined;
  /** Lines that a killed process left torn, as `audit-….jsonl:12`. */
  readonly torn: readonly string[];
  /** The first line that breaks the chain, and how. Undefined: none does. */
  readonly broken: { readonly place: string; readonly problem: string } | undefined;
}

/**
 * Reads files of one audit log, in any order, and follows their chain. Stops at the first line that is changed, or that
 * does not follow the one before it.
 */
export const verifyAuditFiles = async (paths: readonly string[]): Promise<Verified> => {
  const torn: string[] = [];
  let lines = 0;
  let first = 0;
  let end: ChainEnd | undefined;
  /** A text that is no line of a chain: torn, if the line after it says so or it is the last and has no line feed. */
  let suspect: { readonly place: string; readonly text: string } | undefined;
  const broken = (place: string, problem: string): Verified => ({
    lines,
    first,
    end,
    torn,
    broken: { place, problem },
  });
  const files = paths.toSorted((a, b) => (basename(a) < basename(b) ? -1 : 1));
  for (const path of files) {
    let number = 0;
    for await (const text of linesOf(path)) {
      number += 1;
      const place = `${path}:${number}`;
      const line = readLine(text);
      if (line === undefined) {
        if (suspect !== undefined) return broken(suspect.place, changed);
        suspect = { place, text };
        continue;
      }
      if (suspect !== undefined) {
        if (line.event !== "torn-line" || line.bytes !== Buffer.byteLength(suspect.text))
          return broken(suspect.place, changed);
        torn.push(suspect.place);
        suspect = undefined;
      }
      if (end !== undefined && (line.previous !== end.digest || line.sequence !== end.sequence + 1))
        return broken(place, "it does not follow the line before it: lines were removed, added or exchanged");
      if (end === undefined) first = line.sequence;
      end = { sequence: line.sequence, digest: line.digest };
      lines += 1;
    }
  }
  if (suspect !== undefined) {
    if (await endsWithLineFeed(files.at(-1) ?? "")) return broken(suspect.place, changed);
    torn.push(suspect.place);
  }
  return { lines, first, end, torn, broken: undefined };
};

const changed = "it was changed: its digest is not that of its text";

/** The lines of a file, which is closed when they end, also for a reader that stops early. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const input = createReadStream(path);
  try {
    yield* createInterface({ input, crlfDelay: Infinity });
  } finally {
    input.destroy();
    if (!input.closed) await once(input, "close");
  }
}

const endsWithLineFeed = async (path: string): Promise<boolean> => {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
    return buffer.toString() === "\n";
  } finally {
    await file.close();
  }
};
