import { Code, ConnectError } from "@connectrpc/connect";

import { BadRequestSchema, ErrorInfoSchema, RequestInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import type { FaultMetadata, FaultTable } from "../faults/service-error.ts";
import { roleFault, ServiceError } from "../faults/service-error.ts";
import { UnauthenticatedError } from "../identity/unauthenticated-error.ts";
import { NamedKeyError } from "../keyring/key-names.ts";
import { MasterKeyMissingError } from "../keyring/keyring.ts";
import { SealBrokenError } from "../keyring/sealed.ts";
import {
  StoreClosedError,
  StoreContentionError,
  StoreCorruptionError,
  StoreFullError,
  StoreOverloadedError,
} from "../store/errors.ts";
import { codeOfNumber } from "../wire/codes.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import { EmptyUploadError } from "./upload.ts";

/** The error of a failed call for its caller and for the log. */
export interface CallRefusal {
  readonly error: ConnectError;
  /** The declared reason, for the log. */
  readonly reason: string | undefined;
  /** True for an undeclared failure or damaged data, whose text goes only to the log. */
  readonly isDefect: boolean;
}

/** The refusal of another process, which the caller gets as it is. */
export class PassedRefusal extends Error {
  override readonly name = "PassedRefusal";
  readonly error: ConnectError;

  constructor(error: ConnectError) {
    super(error.message, { cause: error });
    this.error = error;
  }
}

/** The caller's error for any exception. The table is the called service's; undefined for the kit's own services. */
export const refusalOf = (thrown: unknown, table: FaultTable | undefined, requestId: string): CallRefusal => {
  if (thrown instanceof ServiceError) return declared(thrown, requestId, thrown.facts.role === FaultRole.INTERNAL);
  if (thrown instanceof PassedRefusal) return { error: thrown.error, reason: undefined, isDefect: false };
  if (thrown instanceof ProtocolError) {
    const { role } = thrown;
    if (table === undefined || role === undefined || !declares(table, role))
      return undeclared(thrown.code, thrown.message);
    return declared(roleFault(table, role, thrown.metadata), requestId, false);
  }
  // Services without declared reasons choose their own error messages.
  if (table === undefined && thrown instanceof ConnectError)
    return { error: thrown, reason: undefined, isDefect: false };
  if (table === undefined && thrown instanceof UnauthenticatedError)
    return withWhy(thrown, undeclared(Code.Unauthenticated, "The call has no valid token."));
  if (table === undefined) return { ...undeclared(Code.Internal, "internal error"), isDefect: true };
  const [role, metadata] = kitRole(thrown) ?? [];
  if (role === undefined || !declares(table, role))
    return declared(roleFault(table, FaultRole.INTERNAL, { request_id: requestId }), requestId, true);
  const refusal = declared(roleFault(table, role, metadata), requestId, role === FaultRole.DATA_LOSS);
  return thrown instanceof UnauthenticatedError ? withWhy(thrown, refusal) : refusal;
};

/** Says what is wrong with a token: whoever reads the message has none that is valid, and wants to get one. */
const withWhy = ({ message }: UnauthenticatedError, refusal: CallRefusal): CallRefusal => {
  const { rawMessage, code, details } = refusal.error;
  const error = new ConnectError(`${rawMessage.replace(/\.$/, "")}. ${message}`, code);
  error.details = details;
  return { ...refusal, error };
};

/** The role and metadata of an exception of the kit's other parts. */
const kitRole = (thrown: unknown): readonly [FaultRole, FaultMetadata] | undefined => {
  if (thrown instanceof NamedKeyError) return [keyRoles[thrown.problem], { key_name: thrown.keyName }];
  if (isDiskFull(thrown)) return [FaultRole.STORAGE_FULL, {}];
  const known = kitRoles.find(([type]) => thrown instanceof type);
  return known && [known[1], known[2]];
};

/** A file could not be written, or the store refused a change, for lack of room. */
const isDiskFull = (thrown: unknown): boolean => {
  if (!(thrown instanceof Error)) return false;
  const { code } = thrown as NodeJS.ErrnoException;
  return thrown instanceof StoreFullError || code === "ENOSPC" || code === "EDQUOT";
};

const keyRoles = {
  NOT_FOUND: FaultRole.KEY_NOT_FOUND,
  DISABLED: FaultRole.KEY_DISABLED,
  PENDING_DELETION: FaultRole.KEY_PENDING_DELETION,
} as const;

const emptyStream = "The stream of requests has no message.";

const kitRoles: readonly (readonly [new (...args: never[]) => Error, FaultRole, FaultMetadata])[] = [
  [UnauthenticatedError, FaultRole.UNAUTHENTICATED, {}],
  [StoreContentionError, FaultRole.CONTENTION, {}],
  [StoreOverloadedError, FaultRole.THROTTLED, {}],
  [StoreClosedError, FaultRole.UNAVAILABLE, {}],
  [StoreCorruptionError, FaultRole.DATA_LOSS, {}],
  [SealBrokenError, FaultRole.DATA_LOSS, {}],
  [MasterKeyMissingError, FaultRole.DATA_LOSS, {}],
  [
    EmptyUploadError,
    FaultRole.INVALID_INPUT,
    { violations: emptyStream, violation_count: "1", plural: "", member: "" },
  ],
];

const declares = (table: FaultTable, role: FaultRole): boolean => table.all().some((facts) => facts.role === role);

const declared = (refused: ServiceError, requestId: string, isDefect: boolean): CallRefusal => {
  const { facts, metadata, violations } = refused;
  const error = new ConnectError(refused.message, codeOfNumber(facts.code));
  error.details = [
    { desc: ErrorInfoSchema, value: { reason: facts.reason, domain: facts.domain, metadata: { ...metadata } } },
    { desc: RequestInfoSchema, value: { requestId } },
  ];
  if (violations.length > 0)
    error.details.push({
      desc: BadRequestSchema,
      value: { fieldViolations: violations.map(({ field, description }) => ({ field, description })) },
    });
  return { error, reason: facts.reason, isDefect };
};

const undeclared = (code: Code, message: string): CallRefusal => ({
  error: new ConnectError(message, code),
  reason: undefined,
  isDefect: false,
});
