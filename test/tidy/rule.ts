import type { Finding, Tree } from "./tree.ts";

/** One rule of the house style that a program can check. */
export interface Rule {
  readonly name: string;
  readonly check: (tree: Tree) => Finding[];
}

/** All TypeScript of the repository but generated code. */
export const code = /^(?:services|gateway|test)\/.*\.ts$/;
/** What runs in an installation. */
export const product = /^(?:services|gateway)\/.*\.ts$/;
