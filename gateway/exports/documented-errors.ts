import type { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import { FaultRole } from "../../gen/quartet/traits/v1/fault_pb.ts";
import { pascalCase } from "../../services/kit/contract/spellings.ts";
import type { FaultFacts, FaultTable } from "../../services/kit/faults/service-error.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import { targetStatus } from "../faults/gateway-refusal.ts";

/** One outside name of refusals; several reasons can share it. */
export interface Refusal {
  readonly name: string;
  readonly status: number;
  /** Names of the members beside the message, of all reasons together. */
  readonly members: readonly string[];
  readonly messages: readonly string[];
}

/** The refusals of a service by outside name and status, in the order of their names. */
export const refusalsOf = (faults: FaultTable, protocol: Protocol, { dialect }: DialectSpelling): Refusal[] => {
  const refusals = new Map<string, Refusal>();
  for (const facts of faults.all()) {
    const name = dialect.writesPublicNames ? facts.publicName : facts.name;
    const status = targetStatus(facts.name, facts.httpStatus, protocol);
    const known = refusals.get(name);
    refusals.set(name, {
      name,
      // A name with two statuses is told with the first: names are what callers decide by.
      status: known?.status ?? status,
      members: [...new Set([...(known?.members ?? []), ...toldMembers(facts)])].toSorted(),
      messages: [...(known?.messages ?? []), facts.message],
    });
  }
  return [...refusals.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
};

const toldMembers = (facts: FaultFacts): string[] => {
  // What the kit tells with a violated constraint stands in the message already.
  if (facts.role === FaultRole.INVALID_INPUT) return [];
  const placeholders = [...facts.message.matchAll(/\{([a-z0-9_]+)\}/g)].map((match) => match[1] ?? "");
  return placeholders.filter((key) => !facts.hiddenMembers.includes(key)).map(pascalCase);
};
