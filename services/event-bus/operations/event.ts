/**
 * Events. Putting refuses the call when its entries are too large together or it names a global endpoint; after that
 * each entry stands alone: source, detail type and detail missing, detail no object, reserved source, a bus of another
 * account. An entry for a bus that is not there is taken, counted and delivered to nobody. What is answered with an id
 * is durable together with its deliveries.
 */
import { timestampMs } from "@bufbuild/protobuf/wkt";

import type { PutEventsRequestEntry } from "../../../gen/quartet/eventbus/v1/event_pb.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application, Operation } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { parseBusReference } from "../domain/arns.ts";
import { parseGivenPattern } from "../domain/pattern.ts";
import { entryBytes, entryLimits, refuseEntry } from "../domain/put-entry.ts";
import { ErrorReason, fault } from "../faults.ts";
import { nestingDepth } from "../json/json-cursor.ts";
import type { NewEvent } from "../ingest.ts";
import { ingestEvent } from "../ingest.ts";
import { flattenText } from "../pattern/flatten.ts";
import { Matcher } from "../pattern/matcher.ts";

/** Puts events on buses. Repeating the call puts them again. */
export const putEvents: Operation<"putEvents"> = async (request, context) => {
  const { app } = context;
  if (request.endpointId !== undefined)
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "EndpointId",
      reason: `Endpoint ${request.endpointId} does not exist.`,
    });
  const bytes = request.entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
  if (bytes > entryLimits.entriesBytesMax) throw fault(ErrorReason.ENTRIES_TOO_LARGE);

  const results = request.entries.map((entry) => judgeEntry(entry, context));
  const taken = results.flatMap((result) => ("event" in result ? [result] : []));
  if (taken.length > 0)
    await app.store.transact(async (transaction) => {
      for (const { bus, event } of taken) await ingestEvent(app, transaction, bus, event);
    });

  return {
    failedEntryCount: results.length - taken.length,
    entries: results.map((result) =>
      "event" in result ? { eventId: result.event.id } : { errorCode: result.code, errorMessage: result.message },
    ),
  };
};

type Judged =
  | { readonly bus: BusReference; readonly event: NewEvent }
  | { readonly code: string; readonly message: string };

const judgeEntry = (entry: PutEventsRequestEntry, context: CallContext<Application>): Judged => {
  const { app, caller } = context;
  const refusal = refuseEntry(entry, app.services.has(caller.issuer));
  if (refusal !== undefined) return refusal;
  const bus = parseBusReference(entry.eventBusName, caller.accountId);
  if (bus.account !== caller.accountId)
    return { code: "AccessDeniedException", message: "Not authorized to put events on the event bus." };
  return {
    bus,
    event: {
      id: app.ids.uuid(),
      detailType: entry.detailType ?? "",
      source: entry.source ?? "",
      account: caller.accountId,
      timeMs: BigInt(entry.time === undefined ? app.clock.now() : timestampMs(entry.time)),
      region: app.place.region,
      resources: entry.resources,
      detail: entry.detail ?? "",
      traceHeader: entry.traceHeader,
      replayName: undefined,
      hops: 0,
    },
  };
};

const mandatoryFields = ["id", "account", "source", "time", "region", "resources", "detail-type"];

/** Says whether an event matches a pattern. Refuses a pattern that is not in the language, then an event that is none. */
export const testEventPattern: Operation<"testEventPattern"> = async (request) => {
  const pattern = parseGivenPattern(request.eventPattern);
  if (!isEvent(request.event)) throw fault(ErrorReason.PARAMETER_NOT_VALID, { parameter: "Event" });
  const matcher = new Matcher<true>().with([{ name: "", pattern, item: true }]);
  return { result: matcher.match(flattenText(request.event, matcher.wants)).length > 0 };
};

const isEvent = (text: string): boolean => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return false;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return false;
  if (nestingDepth(text) > entryLimits.depthMax) return false;
  return mandatoryFields.every((field) => Object.hasOwn(parsed, field));
};
