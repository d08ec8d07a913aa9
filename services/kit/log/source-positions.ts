import { readFileSync } from "node:fs";
import type { SourceMapPayload } from "node:module";
import { SourceMap } from "node:module";

import { parseJson } from "../json/parse-json.ts";

/** The maps of bundles by their paths; null: there is none. A map is big, so it may be dropped between two errors. */
const maps = new Map<string, WeakRef<SourceMap> | null>();

/** A stack whose lines name the files and lines of the sources where the program runs from a bundle. */
export const withSourcePositions = (stack: string): string =>
  stack.replaceAll(/(file:\/\/[^\s()]+\.mjs):(\d+):(\d+)/g, (place, url: string, line: string, column: string) => {
    const entry = findMap(url)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (entry === undefined || !("originalSource" in entry)) return place;
    const { originalSource, originalLine, originalColumn } = entry;
    return `${new URL(originalSource, url).href}:${originalLine + 1}:${originalColumn + 1}`;
  });

const findMap = (url: string): SourceMap | undefined => {
  const known = maps.get(url);
  if (known === null) return undefined;
  const map = known?.deref() ?? readMap(url);
  maps.set(url, map === undefined ? null : new WeakRef(map));
  return map;
};

const readMap = (url: string): SourceMap | undefined => {
  try {
    return new SourceMap(parseJson(readFileSync(new URL(`${url}.map`), "utf8")) as SourceMapPayload);
  } catch {
    return undefined;
  }
};
