import type { DescEnum, DescEnumValue } from "@bufbuild/protobuf";
import { hasOption } from "@bufbuild/protobuf";
import type { GenEnum } from "@bufbuild/protobuf/codegenv2";

import { Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import type { Code, FaultVariant } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import { error_domain, fault, FaultRole, FaultRoleSchema } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import { readOption } from "../contract/options.ts";

/** The declaration of one reason for which a service refuses a call. */
export interface FaultFacts {
  /** The enum value's number in its service's ErrorReason. */
  readonly number: number;
  /** The enum value's name less `ERROR_REASON_`: the reason in google.rpc.ErrorInfo. */
  readonly reason: string;
  /** The ErrorInfo domain, `<service>.quartet`. */
  readonly domain: string;
  readonly code: Code;
  /** The documented name that callers see, for example `NoSuchBucket`. */
  readonly name: string;
  /** The same in the public dialect; most often equal. */
  readonly publicName: string;
  readonly httpStatus: number;
  /** Message template; `{key}` is filled from the metadata. */
  readonly message: string;
  readonly role: FaultRole;
  readonly hiddenMembers: readonly string[];
  /** Metadata keys whose texts name members, headers or enum values in their documented spelling. */
  readonly spelledMetadata: readonly string[];
  /** Metadata keys that the message does not contain, as declared. */
  readonly furtherMetadata: readonly string[];
  /** The protocols over which the reason can be met; empty: all of them. */
  readonly protocols: readonly Protocol[];
  /** The differences of a protocol; read them with `faultNaming`. */
  readonly variants: ReadonlyMap<Protocol, FaultVariant>;
}

/** How one protocol calls a reason. */
export type FaultNaming = Pick<FaultFacts, "name" | "publicName" | "httpStatus" | "message">;

/** What varies in a refusal. Keys are the placeholders of the reason's message template. */
export type FaultMetadata = Readonly<Record<string, string>>;

/** One member of a request that does not satisfy its constraints. */
export interface FaultViolation {
  /** Path in wire names, for example `Entries[0].Source`. */
  readonly path: string;
  /** Path in proto names, for example `entries[0].source`. */
  readonly field: string;
  /** The violated constraint, without the value if the member is sensitive. */
  readonly description: string;
}

/** All reasons of one service. */
export interface FaultTable {
  readonly domain: string;
  byNumber(number: number): FaultFacts;
  findByReason(reason: string): FaultFacts | undefined;
  /** Throws if the service declares no reason for this role. */
  byRole(role: FaultRole): FaultFacts;
  all(): readonly FaultFacts[];
}

/** A declared refusal. Its message is for callers; a cause, if any, is only for the log. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly facts: FaultFacts;
  readonly metadata: FaultMetadata;
  readonly violations: readonly FaultViolation[];

  constructor(facts: FaultFacts, metadata: FaultMetadata = {}, options: ServiceErrorOptions = {}) {
    super(fillMessage(facts.message, metadata), options.cause === undefined ? undefined : { cause: options.cause });
    this.facts = facts;
    this.metadata = metadata;
    this.violations = options.violations ?? [];
  }
}

/** Optional parts of a refusal. */
interface ServiceErrorOptions {
  readonly cause?: unknown;
  readonly violations?: readonly FaultViolation[];
}

const tables = new WeakMap<DescEnum, FaultTable>();

/** The declared facts of an ErrorReason enum, read once. Throws if a value lacks a fact. */
export const faultTable = (reasons: DescEnum): FaultTable => {
  let table = tables.get(reasons);
  if (table === undefined) {
    table = readTable(reasons);
    tables.set(reasons, table);
  }
  return table;
};

/** Makes the function with which a service's handlers make their refusals: `throw fault(ErrorReason.X, { what })`. */
export const faultsOf = <Reason extends number>(reasons: GenEnum<Reason>) => {
  const table = faultTable(reasons);
  return (reason: Reason, metadata: FaultMetadata = {}, options: ServiceErrorOptions = {}): ServiceError =>
    new ServiceError(table.byNumber(reason), metadata, options);
};

/** The refusal that a service declares for a case in which the kit itself refuses the call. */
export const roleFault = (
  table: FaultTable,
  role: FaultRole,
  metadata: FaultMetadata = {},
  options: ServiceErrorOptions = {},
): ServiceError => new ServiceError(table.byRole(role), metadata, options);

/** The name, status and message template of a reason over a protocol. */
export const faultNaming = (facts: FaultFacts, protocol: Protocol): FaultNaming => {
  const variant = facts.variants.get(protocol);
  if (variant === undefined) return facts;
  return {
    name: variant.name || facts.name,
    publicName: variant.name || facts.publicName,
    httpStatus: variant.httpStatus || facts.httpStatus,
    message: variant.message || facts.message,
  };
};

/** Fills `{key}` from the metadata; a key without a value is left out. */
export const fillMessage = (template: string, metadata: FaultMetadata): string =>
  template.replace(/\{([a-z0-9_]+)\}/g, (_whole, key: string) => metadata[key] ?? "");

const readTable = (reasons: DescEnum): FaultTable => {
  const domain = readOption(reasons, error_domain);
  if (domain === "") throw new Error(`${reasons.typeName} declares no error_domain`);
  const facts = reasons.values.filter((value) => value.number !== 0).map((value) => readFacts(value, domain));
  const numbers = new Map(facts.map((fact) => [fact.number, fact]));
  const names = new Map(facts.map((fact) => [fact.reason, fact]));
  const roles = new Map(facts.filter((fact) => fact.role !== FaultRole.UNSPECIFIED).map((fact) => [fact.role, fact]));
  return {
    domain,
    byNumber: (number) => {
      const found = numbers.get(number);
      if (found === undefined) throw new Error(`${reasons.typeName} has no reason ${number}`);
      return found;
    },
    findByReason: (reason) => names.get(reason),
    byRole: (role) => {
      const found = roles.get(role);
      if (found === undefined)
        throw new Error(`${reasons.typeName} declares no reason for role ${FaultRoleSchema.value[role]?.name}`);
      return found;
    },
    all: () => facts,
  };
};

const readFacts = (value: DescEnumValue, domain: string): FaultFacts => {
  if (!hasOption(value, fault)) throw new Error(`${value.name} of ${value.parent.typeName} declares no fault`);
  const declared = readOption(value, fault);
  if (declared.name === "" || declared.httpStatus === 0 || declared.code === 0 || declared.message === "")
    throw new Error(`${value.name} of ${value.parent.typeName} declares an incomplete fault`);
  return {
    number: value.number,
    reason: value.name.replace(/^ERROR_REASON_/, ""),
    domain,
    code: declared.code,
    name: declared.name,
    publicName: declared.publicName === "" ? declared.name : declared.publicName,
    httpStatus: declared.httpStatus,
    message: declared.message,
    role: declared.role,
    hiddenMembers: declared.hiddenMembers,
    spelledMetadata: declared.spelledMetadata,
    furtherMetadata: declared.furtherMetadata,
    protocols: declared.protocols,
    variants: new Map(
      [
        [Protocol.REST_XML, declared.restXml] as const,
        [Protocol.TARGET_JSON, declared.targetJson] as const,
        [Protocol.QUERY, declared.query] as const,
      ].flatMap(([protocol, variant]) => (variant === undefined ? [] : [[protocol, variant] as const])),
    ),
  };
};
