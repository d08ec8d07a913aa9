import { parseArn } from "../arn/arn.ts";

/** The state of a named key. */
type KeyState = "ENABLED" | "DISABLED" | "PENDING_DELETION";

/** A declared key. */
export interface NamedKey {
  /** Its id, or its ARN in any partition; with an ARN it is named only by names of the same region and account. */
  readonly id: string;
  /** Each begins with `alias/`. */
  readonly aliases: readonly string[];
  readonly state: KeyState;
}

/** The named keys, and which of them may be used now. */
export interface KeyNames {
  /**
   * The id of the key with this id or alias, or with an ARN of either in any partition; the empty name is that of the
   * installation's own key, whose id is empty. Throws NamedKeyError.
   */
  usableId(name: string): string;
}

/** Why a named key cannot be used. */
type NamedKeyProblem = "NOT_FOUND" | Exclude<KeyState, "ENABLED">;

const problems: Readonly<Record<NamedKeyProblem, string>> = {
  NOT_FOUND: "does not exist",
  DISABLED: "is disabled",
  PENDING_DELETION: "is pending deletion",
};

/** A key does not exist or may not be used. A declaration can change that, so a later call may succeed. */
export class NamedKeyError extends Error {
  override readonly name = "NamedKeyError";
  readonly problem: NamedKeyProblem;
  /** The name as the caller wrote it. */
  readonly keyName: string;

  constructor(problem: NamedKeyProblem, keyName: string) {
    super(`Key ${keyName} ${problems[problem]}.`);
    this.problem = problem;
    this.keyName = keyName;
  }
}

/** As long as an id may be for a key to be derived with it. */
const idBytesMax = 1_003;

/** The names of an installation that declares no keys: each names a key of its own, which may be used. */
export const anyKeyNames: KeyNames = {
  usableId: (name) => {
    const { local } = partsOf(name);
    if (Buffer.byteLength(local) > idBytesMax) throw new NamedKeyError("NOT_FOUND", name);
    return local;
  },
};

/** The names of an installation that declares its keys; others do not exist. No two keys may share a name. */
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

/** The local part of a name, `alias/x` or an id, and the region and account of an ARN. */
export const partsOf = (name: string): { readonly local: string; readonly place: string | undefined } => {
  const parsed = name.startsWith("arn:") ? parseArn(name) : undefined;
  if (parsed?.service !== "kms") return { local: name, place: undefined };
  return { local: parsed.resource.replace(/^key\//, ""), place: `${parsed.region}:${parsed.account}` };
};
