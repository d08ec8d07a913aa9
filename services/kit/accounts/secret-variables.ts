import type { ConfigFile } from "../config/config-file.ts";
import { readValue } from "../config/read-value.ts";
import type { DeclaredAccessKey } from "./declaration.ts";
import { accountSections } from "./declaration.ts";

/** The environment variables in which a configuration file says that secrets of access keys are. */
export const secretVariables = (file: ConfigFile): readonly string[] =>
  Object.values(readValue(accountSections.accounts, file["accounts"] ?? {}, "accounts")).flatMap(
    ({ accessKeys = [], users = [] }) =>
      [...accessKeys, ...users.flatMap((user) => user.accessKeys ?? [])].flatMap(variableOf),
  );

const variableOf = ({ secret }: DeclaredAccessKey): readonly string[] =>
  typeof secret === "string" || secret.environment === undefined ? [] : [secret.environment];
