import { readFileSync } from "node:fs";
import type { SourceMapPayload } from "node:module";
import { SourceMap } from "node:module";
import { pathToFileURL } from "node:url";

import { parseJson } from "../json/parse-json.ts";

/** The maps of bundles by their paths; null: there is none. A map is big, so it may be dropped between two errors. */
const maps = new Map<string, WeakRef<SourceMap> | null>();

/** A stack whose lines name the files and lines of the sources where the program runs from a bundle. */
export const withSourcePositions = (stack: string): string =>
  stack.replaceAll(/(\/[^\s():]+\.cjs):(\d+):(\d+)/g, (place, path: string, line: string, column: string) => {
    const entry = findMap(path)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (entry === undefined || !("originalSource" in entry)) return place;
    const { originalSource, originalLine, originalColumn } = entry;
    return `${new URL(originalSource, pathToFileURL(path)).href}:${originalLine + 1}:${originalColumn + 1}`;
  });

const findMap = (path: string): SourceMap | undefined => {
  const known = maps.get(path);
  if (known === null) return undefined;
  const map = known?.deref() ?? readMap(path);
  maps.set(path, map === undefined ? null : new WeakRef(map));
  return map;
};

const readMap = (path: string): SourceMap | undefined => {
  try {
    return new SourceMap(parseJson(readFileSync(`${path}.map`, "utf8")) as SourceMapPayload);
  } catch {
    return undefined;
  }
};
