import type { KeyNames, NamedKey } from "../../services/kit/keyring/key-names.ts";
import { declaredKeyNames } from "../../services/kit/keyring/key-names.ts";

/** Declared keys that a test changes, as an operator changes quartet.json. */
export interface ChangingKeys {
  readonly names: KeyNames;
  declare(...keys: readonly (Pick<NamedKey, "id"> & Partial<NamedKey>)[]): void;
}

/** An installation that declares no key yet, and no others. */
export const changingKeys = (): ChangingKeys => {
  let current = declaredKeyNames([]);
  return {
    names: { usableId: (name) => current.usableId(name) },
    declare: (...keys) => {
      current = declaredKeyNames(keys.map((key) => ({ aliases: [], state: "ENABLED", ...key })));
    },
  };
};
