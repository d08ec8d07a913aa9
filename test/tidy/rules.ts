import type { Rule } from "./rule.ts";
import { commentRules } from "./rules/comments.ts";
import { documentRules } from "./rules/documents.ts";
import { exportRules } from "./rules/exports.ts";
import { fileRules } from "./rules/files.ts";
import { importRules } from "./rules/imports.ts";
import { operationRules } from "./rules/operations.ts";

/** The rules of the house style that a program can check, by what they look at. */
export const rules: readonly Rule[] = [
  ...fileRules,
  ...importRules,
  ...operationRules,
  ...exportRules,
  ...commentRules,
  ...documentRules,
];
