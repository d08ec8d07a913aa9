import type { DescEnum, DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import type { FieldContract } from "../contract/contract.ts";
import { messageContract } from "../contract/contract.ts";
import type { WireNames } from "../contract/spellings.ts";
import { documentedNames, enumSpellings } from "../contract/spellings.ts";
import type { FaultTable, ServiceError } from "../faults/service-error.ts";
import { roleFault } from "../faults/service-error.ts";
import { numberCheck, sizeCheck, textCheck } from "./checks.ts";
import type { Violation } from "./wording.ts";
import type { MemberNaming } from "./wording.ts";
import { mustBeOneOf, mustBeUnique, mustNotBeNull, quoteValue, violationPath, violationSentence } from "./wording.ts";

export type { Violation } from "./wording.ts";

/** Returns the violations of a message's constraints; empty if it is valid. */
export type Validator = (message: Message) => readonly Violation[];

/** Adds the violations of one value to the list; the value is present. */
type ValueCheck = (value: unknown, violations: Violation[]) => void;

type Fields = Readonly<Record<string, unknown>>;

const validators = new WeakMap<WireNames, WeakMap<DescMessage, Validator>>();
const good: readonly Violation[] = Object.freeze([]);

/** The validator of a message type, compiled from its traits on first use. Its violations use the names. */
export const validatorFor = (desc: DescMessage, names: WireNames = documentedNames): Validator => {
  let own = validators.get(names);
  if (own === undefined) {
    own = new WeakMap();
    validators.set(names, own);
  }
  let validator = own.get(desc);
  if (validator === undefined) {
    validator = compile(desc, names);
    own.set(desc, validator);
  }
  return validator;
};

/** Throws the service's refusal of invalid input, with wire names, if there is a violation. */
export const throwViolations = (table: FaultTable, violations: readonly Violation[]): void => {
  if (violations.length > 0) throw violationsFault(table, violations, "wire");
};

/** The service's refusal of invalid input; its message lists the first ten violations. Unset: proto names. */
export const violationsFault = (
  table: FaultTable,
  violations: readonly Violation[],
  naming: MemberNaming = "proto",
): ServiceError => {
  const listed = violations.slice(0, violationsListedMax);
  const metadata = {
    violations: listed.map((violation) => violationSentence(violation, naming)).join("; "),
    violation_count: String(violations.length),
    plural: violations.length === 1 ? "" : "s",
    member: violations[0] === undefined ? "" : violationPath(violations[0], naming),
  };
  return roleFault(table, FaultRole.INVALID_INPUT, metadata, { violations: listed });
};

/** The violation of a member whose text is not a spelling of its enum. */
export const enumViolation = (
  contract: FieldContract,
  desc: DescEnum,
  path: string,
  text: string,
  names: WireNames,
): Violation => {
  const shown = contract.constraints.isSensitive ? undefined : quoteValue(text);
  const description = mustBeOneOf(enumSpellings(desc).values.map(names.enumValue));
  return { path, field: contract.desc.name, description, ...(shown === undefined ? {} : { value: shown }) };
};

const violationsListedMax = 10;

const compile = (desc: DescMessage, names: WireNames): Validator => {
  const checks = messageContract(desc)
    .fields.map((field) => compileField(field, names))
    .filter((check) => check !== undefined);
  if (checks.length === 0) return () => good;
  return (message) => {
    let violations: Violation[] | undefined;
    for (const check of checks) violations = check(message, violations);
    return violations ?? good;
  };
};

/** Checks one field of a message; returns the list, which is created when first needed. */
type FieldCheck = (message: Fields, violations: Violation[] | undefined) => Violation[] | undefined;

const compileField = (contract: FieldContract, names: WireNames): FieldCheck | undefined => {
  const check = compileValue(contract, names);
  const { isRequired, isSensitive } = contract.constraints;
  if (check === undefined && !isRequired) return undefined;
  const read = presentValue(contract.desc);
  return (message, violations) => {
    const value = read(message);
    if (value === undefined) {
      if (!isRequired) return violations;
      return [...(violations ?? []), { ...pathOf(contract, names), description: mustNotBeNull, value: "null" }];
    }
    if (check === undefined) return violations;
    const found: Violation[] = [];
    check(value, found);
    if (found.length === 0) return violations;
    return [...(violations ?? []), ...(isSensitive ? found.map(withoutValue) : found)];
  };
};

const withoutValue = ({ path, field, description }: Violation): Violation => ({ path, field, description });

const pathOf = (contract: FieldContract, names: WireNames): { path: string; field: string } => ({
  path: names.member(contract),
  field: contract.desc.name,
});

/** Returns a reader of a field's value, which is undefined if the field counts as absent. */
const presentValue = (field: DescField): ((message: Fields) => unknown) => {
  const name = field.localName;
  if (field.oneof !== undefined) {
    const group = field.oneof.localName;
    return (message) => {
      const chosen = message[group] as { case?: string; value?: unknown };
      return chosen.case === name ? chosen.value : undefined;
    };
  }
  if (field.fieldKind === "list")
    return (message) => orAbsent(message[name], (message[name] as unknown[]).length === 0);
  if (field.fieldKind === "map") return (message) => orAbsent(message[name], isEmptyRecord(message[name] as object));
  if (field.fieldKind === "enum")
    return (message) => orAbsent(message[name], message[name] === 0 && isUnspecified(field.enum));
  // A scalar without presence is absent if it has its zero value.
  const hasPresence = field.fieldKind === "message" || field.proto.proto3Optional;
  if (hasPresence) return (message) => message[name];
  if (field.scalar === ScalarType.BYTES)
    return (message) => orAbsent(message[name], (message[name] as Uint8Array).length === 0);
  return (message) => orAbsent(message[name], isZero(message[name]));
};

const orAbsent = (value: unknown, isAbsent: boolean): unknown => (isAbsent ? undefined : value);

const isZero = (value: unknown): boolean => value === "" || value === 0 || value === 0n || value === false;

const isUnspecified = (desc: DescEnum): boolean => enumSpellings(desc).findByNumber(0) === undefined;

const isEmptyRecord = (record: object): boolean => {
  for (const _key in record) return false;
  return true;
};

/** The check of a present field value; undefined: nothing to check. */
const compileValue = (contract: FieldContract, names: WireNames): ValueCheck | undefined => {
  const { desc: field, constraints } = contract;
  switch (field.fieldKind) {
    case "list":
      return compileList(contract, field, names);
    case "map":
      return compileMap(contract, field, names);
    case "message":
      return nested(validatorOf(field.message, names), contract, field.message, names);
    case "enum":
      return enumCheck(contract, field.enum, names);
    case "scalar": {
      if (field.scalar === ScalarType.STRING) return reported(contract, textCheck(constraints, names), names);
      if (field.scalar === ScalarType.BYTES) {
        const check = sizeCheck(constraints);
        return check && reported(contract, (bytes: Uint8Array) => check(bytes.length), names);
      }
      return reported(contract, numberCheck(constraints), names);
    }
  }
};

/**
 * The validator of a nested message, found when it is first used, because a message may hold its own type. Messages of
 * other packages (instants, durations) carry no traits of ours.
 */
const validatorOf = (desc: DescMessage, names: WireNames): Validator | undefined =>
  desc.typeName.startsWith("google.protobuf.") ? undefined : (message) => validatorFor(desc, names)(message);

const reported = <Value>(
  contract: FieldContract,
  check: ((value: Value) => string | undefined) | undefined,
  names: WireNames,
): ValueCheck | undefined => {
  if (check === undefined) return undefined;
  return (value, violations) => {
    const description = check(value as Value);
    if (description === undefined) return;
    violations.push({ ...pathOf(contract, names), description, ...shown(value) });
  };
};

const shown = (value: unknown): { value?: string } => {
  const text = quoteValue(value);
  return text === undefined ? {} : { value: text };
};

const enumCheck = (contract: FieldContract, desc: DescEnum, names: WireNames): ValueCheck => {
  const spellings = enumSpellings(desc);
  const description = mustBeOneOf(spellings.values.map(names.enumValue));
  const check = (value: number) => (spellings.findByNumber(value) === undefined ? description : undefined);
  return reported(contract, check, names)!;
};

/** Reports a wrapper as the list or map that it is in bodies. */
const nested = (
  validator: Validator | undefined,
  contract: FieldContract,
  desc: DescMessage,
  names: WireNames,
): ValueCheck | undefined => {
  if (validator === undefined) return undefined;
  const name = names.member(contract);
  const { wrapped } = messageContract(desc);
  const wrappedLength = wrapped === undefined ? 0 : names.member(wrapped).length;
  return (value, violations) => {
    for (const inner of validator(value as Message)) {
      const path = wrapped === undefined ? `${name}.${inner.path}` : name + inner.path.slice(wrappedLength);
      violations.push({ ...inner, path, field: `${contract.desc.name}.${inner.field}` });
    }
  };
};

const compileList = (
  contract: FieldContract,
  field: DescField & { fieldKind: "list" },
  names: WireNames,
): ValueCheck | undefined => {
  const size = sizeCheck(contract.constraints);
  const isUnique = contract.constraints.hasUniqueItems;
  const item = compileElement(contract, field.listKind === "message" ? field.message : undefined, field.enum, names);
  if (size === undefined && !isUnique && item === undefined) return undefined;
  return (value, violations) => {
    const items = value as unknown[];
    const description = size?.(items.length);
    if (description !== undefined) violations.push({ ...pathOf(contract, names), description, ...shown(value) });
    if (isUnique && new Set(items).size !== items.length)
      violations.push({ ...pathOf(contract, names), description: mustBeUnique, ...shown(value) });
    if (item === undefined) return;
    items.forEach((entry, index) => item(entry, index, violations));
  };
};

const compileMap = (
  contract: FieldContract,
  field: DescField & { fieldKind: "map" },
  names: WireNames,
): ValueCheck | undefined => {
  const size = sizeCheck(contract.constraints);
  const { isSensitive } = contract.constraints;
  const keys = contract.constraints.key === undefined ? undefined : textCheck(contract.constraints.key, names);
  const item = compileElement(contract, field.mapKind === "message" ? field.message : undefined, field.enum, names);
  if (size === undefined && keys === undefined && item === undefined) return undefined;
  return (value, violations) => {
    const entries = Object.entries(value as Fields);
    const description = size?.(entries.length);
    if (description !== undefined) violations.push({ ...pathOf(contract, names), description });
    for (const [key, entry] of entries) {
      const wrong = keys?.(key);
      if (wrong !== undefined) violations.push({ ...pathOf(contract, names), description: wrong, ...shown(key) });
      item?.(entry, isSensitive ? "" : `.${quoteKey(key)}`, violations);
    }
  };
};

/** A map key as a path shows it; a path stays short whatever the key. */
const quoteKey = (key: string): string => (key.length <= 64 ? key : `${key.slice(0, 64)}…`);

/** Checks one element: of a list at an index, or of a map, whose name is what stands behind the map's. */
type ElementCheck = (value: unknown, at: number | string, violations: Violation[]) => void;

const behindName = (at: number | string, names: WireNames): string => (typeof at === "number" ? names.element(at) : at);

const compileElement = (
  contract: FieldContract,
  message: DescMessage | undefined,
  enumeration: DescEnum | undefined,
  names: WireNames,
): ElementCheck | undefined => {
  if (message !== undefined) {
    const validator = validatorOf(message, names);
    if (validator === undefined) return undefined;
    const name = names.member(contract);
    return (value, at, violations) => {
      for (const inner of validator(value as Message))
        violations.push({
          ...inner,
          path: `${name}${behindName(at, names)}.${inner.path}`,
          field: `${contract.desc.name}${behindName(at, documentedNames)}.${inner.field}`,
        });
    };
  }
  const check = enumeration === undefined ? elementTextCheck(contract, names) : enumCheck(contract, enumeration, names);
  if (check === undefined) return undefined;
  return (value, at, violations) => {
    const found: Violation[] = [];
    check(value, found);
    for (const inner of found) {
      const path = inner.path + behindName(at, names);
      violations.push({ ...inner, path, field: inner.field + behindName(at, documentedNames) });
    }
  };
};

const elementTextCheck = (contract: FieldContract, names: WireNames): ValueCheck | undefined => {
  const { element } = contract.constraints;
  return element === undefined ? undefined : reported(contract, textCheck(element, names), names);
};
