import { globSync, readFileSync } from "node:fs";

import { importsOf } from "../tidy/imports.ts";

/** Imports that are gone when the file runs. */
const typeImports = /(?:import|export) type [^;]*?;/g;

/** Which test files run a source file, by how many imports they are away from it, the nearest first. */
export class ImportGraph {
  readonly #importers = new Map<string, string[]>();

  /** Reads the TypeScript files below the root's `gateway`, `services` and `test`. */
  constructor(root: string) {
    for (const path of globSync("{gateway,services,test}/**/*.ts", { cwd: root }).toSorted()) {
      const content = readFileSync(`${root}/${path}`, "utf8").replaceAll(typeImports, "");
      for (const imported of new Set(importsOf(path, content)))
        this.#importers.set(imported, [...(this.#importers.get(imported) ?? []), path]);
    }
  }

  /** The tests of a source file: those in the folder that mirrors its own first, then by distance. */
  testsOf(source: string): string[] {
    const mirror = `test/${source.replace(/^services\//, "").replace(/\/[^/]*$/, "/")}`;
    const seen = new Set([source]);
    const tests: string[] = [];
    for (let edge = [source]; edge.length > 0;) {
      const next = edge.flatMap((path) => this.#importers.get(path) ?? []).filter((path) => !seen.has(path));
      edge = [...new Set(next)];
      for (const path of edge) seen.add(path);
      tests.push(...edge.filter((path) => path.endsWith(".test.ts")));
    }
    return [...tests.filter((path) => path.startsWith(mirror)), ...tests.filter((path) => !path.startsWith(mirror))];
  }
}
