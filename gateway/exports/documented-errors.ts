import type { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import { FaultRole } from "../../gen/quartet/traits/v1/fault_pb.ts";
import { pascalCase } from "../../services/kit/contract/spellings.ts";
import type { FaultFacts, FaultTable } from "../../services/kit/faults/service-error.ts";
import { faultNaming } from "../../services/kit/faults/service-error.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { gatewayMembers } from "../faults/gateway-fault.ts";
import { gatewayFaults } from "../refusal.ts";

/** One name of errors in HTTP; several reasons can share it. */
export interface DocumentedError {
  readonly name: string;
  readonly status: number;
  /** Names of the members next to the message, of all reasons together. */
  readonly members: readonly string[];
  readonly messages: readonly string[];
}

/** The errors of an API by name: those of its service and those of the gateway, sorted. */
export const documentedErrors = (faults: FaultTable, protocol: Protocol, dialect: Dialect): DocumentedError[] => {
  const errors = new Map<string, DocumentedError>();
  for (const facts of [...faults.all(), ...gatewayFaults.all()]) {
    if (facts.protocols.length > 0 && !facts.protocols.includes(protocol)) continue;
    const naming = faultNaming(facts, protocol);
    const name = dialect.writesPublicNames ? naming.publicName : naming.name;
    const known = errors.get(name);
    errors.set(name, {
      name,
      // The first status of a name with two: clients decide by the name.
      status: known?.status ?? naming.httpStatus,
      members: [...new Set([...(known?.members ?? []), ...membersOf(facts, protocol, dialect)])].toSorted(),
      messages: [...(known?.messages ?? []), naming.message],
    });
  }
  return [...errors.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
};

const membersOf = (facts: FaultFacts, protocol: Protocol, dialect: Dialect): string[] => {
  // The metadata of a violated constraint is part of the message.
  if (facts.role === FaultRole.INVALID_INPUT) return [];
  const placeholders = [...facts.message.matchAll(/\{([a-z0-9_]+)\}/g)].map((match) => match[1] ?? "");
  const keys = [...placeholders, ...facts.furtherMetadata].filter((key) => !facts.hiddenMembers.includes(key));
  return facts.domain === gatewayFaults.domain ? gatewayMembers(keys, protocol, dialect) : keys.map(pascalCase);
};
