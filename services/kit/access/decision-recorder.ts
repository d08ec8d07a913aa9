import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";

import type { AuditEntry } from "../audit/audit-log.ts";
import type { PolicyRequest } from "../policy/compiled.ts";
import type { StatementPlace } from "../policy/evaluate.ts";
import type { CallContext } from "../server/handlers.ts";

/** The parts of a call that its record names. */
export type RecordedCall = Pick<CallContext<unknown>, "method" | "caller"> &
  Partial<Pick<CallContext<unknown>, "audit" | "requestId">>;

/** A decision that no policy made. */
interface RuledDecision {
  /** With its prefix. */
  readonly action: string;
  readonly resource: string;
  readonly isAllowed: boolean;
  /** The rule in kebab case. */
  readonly reason: string;
}

/** Records a decision that no policy made. Nothing is done without an audit log. */
export const recordDecision = (call: RecordedCall, { action, resource, isAllowed, reason }: RuledDecision): void => {
  const recorder = new DecisionRecorder(call);
  recorder.record({ action, resource }, isAllowed, reason, undefined);
  recorder.finish();
};

/** Whether decisions that allow the call are recorded: there is an audit log, and the method changes something. */
export const recordsAllowed = ({ audit, method }: Pick<RecordedCall, "audit" | "method">): boolean =>
  audit !== undefined && method.idempotency !== Idempotency.NO_SIDE_EFFECTS;

/**
 * Records the decisions on one call: all that are refused, and those that are allowed where the contract does not say
 * that the method has no side effects. The same decision on the same resource, as for entries of one list, is one line
 * with its count. Nothing is done without an audit log.
 */
export class DecisionRecorder {
  readonly #call: RecordedCall;
  #pending: { entry: AuditEntry; count: number } | undefined;

  constructor(call: RecordedCall) {
    this.#call = call;
  }

  record(
    { action, resource }: Pick<PolicyRequest, "action" | "resource">,
    isAllowed: boolean,
    reason: string,
    statement: StatementPlace | undefined,
  ): void {
    const { audit, method, caller, requestId = "" } = this.#call;
    if (audit === undefined || (isAllowed && !recordsAllowed(this.#call))) return;
    const decision = isAllowed ? "allowed" : "refused";
    const last = this.#pending?.entry;
    if (
      this.#pending !== undefined &&
      last?.action === action &&
      last.resource === resource &&
      last.decision === decision &&
      last.reason === reason
    ) {
      this.#pending.count += 1;
      return;
    }
    this.finish();
    const principal = caller.isAnonymous ? "anonymous" : caller.principalArn;
    const { accessKeyId, sourceIp } = caller;
    const who = { requestId, principal, accessKeyId, sourceIp };
    const what = { method: method.name, action, resource, decision, reason, statement } as const;
    this.#pending = { entry: { ...who, ...what }, count: 1 };
  }

  /** Writes the last line; no decision follows. */
  finish(): void {
    if (this.#pending === undefined) return;
    const { entry, count } = this.#pending;
    this.#pending = undefined;
    this.#call.audit?.record(count === 1 ? entry : { ...entry, count });
  }
}
