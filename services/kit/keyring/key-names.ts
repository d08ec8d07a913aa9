import { parseArn } from "../arn/arn.ts";

/** Whether a named key may be used. */
export type KeyState = "ENABLED" | "DISABLED" | "PENDING_DELETION";

/** A declared key. */
export interface NamedKey {
  /** Its id, or its ARN in any partition; with an ARN only names of the same region and account mean it. */
  readonly id: string;
  /** Each begins with `alias/`. */
  readonly aliases: readonly string[];
  readonly state: KeyState;
}

/** Which keys there are, and which of them may be used now. */
export interface KeyNames {
  /**
   * The id of the key that is meant by an id, an alias, or an ARN of either in any partition; the empty name means the
   * installation's own key, whose id is empty. Throws NamedKeyError.
   */
  usableId(name: string): string;
}

/** Why a named key cannot be used. */
export type NamedKeyProblem = "NOT_FOUND" | Exclude<KeyState, "ENABLED">;

const words: Readonly<Record<NamedKeyProblem, string>> = {
  NOT_FOUND: "does not exist",
  DISABLED: "is disabled",
  PENDING_DELETION: "is pending deletion",
};

/** A key that is not there or may not be used. A declaration changes that, so calling again later may help. */
export class NamedKeyError extends Error {
  override readonly name = "NamedKeyError";
  readonly problem: NamedKeyProblem;
  /** As it was given. */
  readonly keyName: string;

  constructor(problem: NamedKeyProblem, keyName: string) {
    super(`Key ${keyName} ${words[problem]}.`);
    this.problem = problem;
    this.keyName = keyName;
  }
}

/** The names of an installation that declares no keys: each is a key of its own, and may be used. */
export const anyKeyNames: KeyNames = { usableId: (name) => partsOf(name).local };

/** The names of an installation that declares its keys, and no others. No two keys may have a name in common. */
export const declaredKeyNames = (keys: readonly NamedKey[]): KeyNames => {
  const byName = new Map(
    keys.flatMap((key) => {
      const { local: id, place } = partsOf(key.id);
      return [id, ...key.aliases].map((name) => [name, { id, place, state: key.state }] as const);
    }),
  );
  return {
    usableId: (name) => {
      if (name === "") return "";
      const { local, place } = partsOf(name);
      const found = byName.get(local);
      const isElsewhere = place !== undefined && found?.place !== undefined && place !== found.place;
      if (found === undefined || isElsewhere) throw new NamedKeyError("NOT_FOUND", name);
      if (found.state !== "ENABLED") throw new NamedKeyError(found.state, name);
      return found.id;
    },
  };
};

/** A name without what an ARN adds to it: `alias/x` or an id; and the region and account that an ARN says. */
export const partsOf = (name: string): { readonly local: string; readonly place: string | undefined } => {
  const parsed = name.startsWith("arn:") ? parseArn(name) : undefined;
  if (parsed?.service !== "kms") return { local: name, place: undefined };
  return { local: parsed.resource.replace(/^key\//, ""), place: `${parsed.region}:${parsed.account}` };
};
