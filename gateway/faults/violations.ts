import type { Message } from "@bufbuild/protobuf";

import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { MethodContract } from "../../services/kit/contract/contract.ts";
import type { WireNames } from "../../services/kit/contract/spellings.ts";
import type { ServiceError } from "../../services/kit/faults/service-error.ts";
import { throwViolations, validatorFor, violationsFault } from "../../services/kit/validation/validate.ts";
import type { ApiBinding } from "../api-binding.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import type { Reading } from "../values/reading.ts";
import type { FaultContext } from "./fault-context.ts";

/**
 * The constraints that the message of a refused call violates, in the names of the caller's dialect. Validating the
 * message again is more reliable than translating a text. Undefined if it violates none, or nothing was sent yet.
 */
export const violatedConstraints = ({ table, protocol, spelling, bound }: FaultContext): ServiceError | undefined => {
  if (bound === undefined) return undefined;
  const violations = validatorFor(bound.method.desc.input, namesIn(spelling, protocol))(bound.message);
  return violations.length === 0 ? undefined : violationsFault(table, violations, "wire");
};

/**
 * Throws the service's refusal if values of a request are not of their members' types. It tells as well which
 * constraints the members that could be read violate, except of documents in XML, whose public service tells one fault.
 */
export const throwMisread = (
  { faults, api }: Pick<ApiBinding, "faults" | "api">,
  { spelling, violations }: Reading,
  method: MethodContract,
  message: Message,
): void => {
  if (violations.length === 0) return;
  const names = namesIn(spelling, api.protocol);
  if (api.protocol === Protocol.REST_XML) throwViolations(faults, violations);
  const misread = violations.map((each) => (names === spelling ? each : { ...each, path: publicPath(each.path) }));
  const paths = new Set(misread.map(({ path }) => path));
  // A member that could not be read is unset, and would count as missing.
  const others = validatorFor(method.desc.input, names)(message).filter(({ path }) => !paths.has(path));
  throwViolations(faults, [...misread, ...others]);
};

/** The names with which violated constraints are told. The public services have names of their own for that. */
const namesIn = (spelling: DialectSpelling, protocol: Protocol): WireNames => {
  if (!spelling.dialect.writesPublicNames || protocol === Protocol.REST_XML) return spelling;
  let names = publicNames.get(spelling);
  if (names === undefined) {
    names = {
      member: (field) => lowerFirst(spelling.member(field)),
      enumValue: (value) => spelling.enumValue(value),
      value: (documented) => spelling.value(documented),
      element: (index) => `.${index + 1}.member`,
    };
    publicNames.set(spelling, names);
  }
  return names;
};

/** One object for each spelling, because compiled validators are kept by it. */
const publicNames = new WeakMap<DialectSpelling, WireNames>();

/** `Targets[0].Arn` -> `targets.1.member.arn`. */
const publicPath = (path: string): string =>
  path
    .split(".")
    .map((part) => lowerFirst(part).replaceAll(/\[(\d+)\]/g, (_, index: string) => `.${Number(index) + 1}.member`))
    .join(".");

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
