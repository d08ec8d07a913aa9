import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { ruleArn } from "../domain/arns.ts";
import type { BusLogFacts } from "../domain/bus-log-record.ts";
import { eventDetails } from "../domain/bus-log-record.ts";

type Logging = Pick<Application, "arnScope" | "busLogs">;

/** Logs that an event was put and which rules it matched, if its bus logs that, once the transaction commits. */
export const logIngested = (
  app: Logging,
  transaction: Transaction,
  bus: BusReference,
  event: EventRecord,
  matched: readonly { readonly name: string }[],
): void => {
  const { busLogs, arnScope } = app;
  if (busLogs.of(bus) === undefined) return;
  transaction.afterCommit(() => {
    const facts = factsOf(event);
    for (const step of ["EVENT_RECEIPT", "EVENT_INGEST_SUCCESS", "RULE_MATCH_START"] as const)
      busLogs.add(bus, step, facts);
    for (const { name } of matched)
      busLogs.add(bus, "RULE_MATCH", () => ({
        eventId: event.id,
        details: { rule_arn: ruleArn(arnScope, bus, name) },
      }));
    if (matched.length === 0) busLogs.add(bus, "NO_STANDARD_RULES_MATCHED", facts);
  });
};

/** Logs that an event was accepted and could not be put on its bus, once the transaction commits. */
export const logNotIngested = (
  app: Logging,
  transaction: Transaction,
  bus: BusReference,
  event: EventRecord,
  error: { readonly code: string; readonly message: string },
): void =>
  transaction.afterCommit(() => {
    app.busLogs.add(bus, "EVENT_RECEIPT", factsOf(event));
    app.busLogs.add(bus, "EVENT_INGEST_FAILURE", (isFull) => ({ ...factsOf(event)(isFull), error }));
  });

const factsOf =
  (event: EventRecord) =>
  (isFull: boolean): BusLogFacts => ({ eventId: event.id, details: eventDetails(event, isFull) });
