import { readFileSync } from "node:fs";
import type { SourceMapPayload } from "node:module";
import { SourceMap } from "node:module";
import { pathToFileURL } from "node:url";

import { parseJson } from "../json/parse-json.ts";

/** The maps of bundles by their paths; null: there is none. A map is big, so it may be dropped between two errors. */
const maps = new Map<string, WeakRef<SourceMap> | null>();

/** A stack whose lines name the files and lines of the sources where the program runs from a bundle. */
export const withSourcePositions = (stack: string): string =>
  stack.replaceAll(placePattern, (place, name: string, line: string, column: string) => {
    const start = name.indexOf("/");
    if (start === -1 || !name.endsWith(".cjs")) return place;
    const path = name.slice(start);
    const entry = findMap(path)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (entry === undefined || !("originalSource" in entry)) return place;
    const { originalSource, originalLine, originalColumn } = entry;
    const source = new URL(originalSource, pathToFileURL(path)).href;
    return `${name.slice(0, start)}${source}:${originalLine + 1}:${originalColumn + 1}`;
  });

/** A file, line and column. It begins where a name begins, so that a long name is not looked through for each end. */
const placePattern = /(?<![^\s():])([^\s():]+):(\d+):(\d+)/g;

/** Paths that are remembered; they are few, but for those in texts of strangers that became part of a message. */
const pathsMax = 100;

const findMap = (path: string): SourceMap | undefined => {
  const known = maps.get(path);
  if (known === null) return undefined;
  const map = known?.deref() ?? readMap(path);
  if (maps.size >= pathsMax) maps.clear();
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
