/**
 * Events. Putting refuses the call when its entries are too large together or it names a global endpoint; after that
 * each entry stands alone: source, detail type and detail missing, detail no object, reserved source, a bus that does not
 * let the caller, deliveries that are too large together. An entry for a bus that is not there is taken, counted and delivered to nobody. What is answered with an id
 * is durable together with its deliveries.
 */
import { timestampMs } from "@bufbuild/protobuf/wkt";

import type { PutEventsRequestEntry } from "../../../gen/quartet/eventbus/v1/event_pb.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { mayPut } from "../access/put-access.ts";
import type { Application, Operation } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { parseBusReference } from "../domain/arns.ts";
import { parseGivenPattern } from "../domain/pattern.ts";
import type { EntryRefusal } from "../domain/put-entry.ts";
import { entryBytes, entryLimits, refuseEntry } from "../domain/put-entry.ts";
import { ErrorReason, fault } from "../faults.ts";
import { nestingDepth } from "../json/json-cursor.ts";
import type { NewEvent, OpenBus } from "../ingestion/ingest.ts";
import { ingestEvent, openBus, tooWideMessage } from "../ingestion/ingest.ts";
import { revisionOf } from "../access/revision.ts";
import { flattenText } from "../pattern/flatten.ts";
import { Matcher } from "../pattern/matcher.ts";

/** Puts events on buses. Repeating the call puts them again. */
export const putEvents: Operation<"putEvents"> = async (request, context) => {
  const { hasEndpoints, depthMax, name } = revisionOf(context);
  if (request.endpointId !== undefined)
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "EndpointId",
      reason: hasEndpoints
        ? `Endpoint ${request.endpointId} does not exist.`
        : `Revision ${name} has no global endpoints.`,
    });
  const bytes = request.entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
  if (bytes > entryLimits.entriesBytesMax) throw fault(ErrorReason.ENTRIES_TOO_LARGE);

  const judged = request.entries.map((entry) => judgeEntry(entry, context, depthMax));
  const results = judged.some((each) => "event" in each) ? await putInParts(judged, context) : judged;

  return {
    failedEntryCount: results.filter((result) => "code" in result).length,
    entries: results.map((result) =>
      "event" in result ? { eventId: result.event.id } : { errorCode: result.code, errorMessage: result.message },
    ),
  };
};

/**
 * Puts the accepted events in as few transactions as their deliveries fit into: one, but for many large inputs. When a
 * later one fails, its entries are answered so and the earlier ones stay put.
 */
const putInParts = async (judged: readonly Judged[], context: CallContext<Application>): Promise<Judged[]> => {
  const { store, log } = context.app;
  const results: Judged[] = [];
  try {
    while (results.length < judged.length) {
      const rest = judged.slice(results.length);
      results.push(...(await store.transact((transaction) => putAccepted(transaction, rest, context))));
    }
  } catch (error) {
    if (results.length === 0) throw error;
    log.error({ err: error }, "some entries of a call were put, and the rest was not");
    results.push(...judged.slice(results.length).map((each) => ("code" in each ? each : notPut)));
  }
  return results;
};

/** Puts each accepted event on its bus if the bus lets the caller, up to what one transaction holds. */
const putAccepted = async (
  transaction: Transaction,
  judged: readonly Judged[],
  { app, caller }: CallContext<Application>,
): Promise<Judged[]> => {
  const buses = new Map<string, OpenBus>();
  const results: Judged[] = [];
  let bytes = 0;
  for (const each of judged) {
    if (bytes >= app.limits.deliveriesBytesMax) break;
    if ("code" in each) {
      results.push(each);
      continue;
    }
    const name = `${each.bus.account}/${each.bus.name}`;
    const bus = buses.get(name) ?? (await openBus(app, transaction, each.bus));
    buses.set(name, bus);
    if (!mayPut(app, each.bus, bus.record, caller, each.event)) {
      results.push(denied);
      continue;
    }
    const ingested = ingestEvent(app, transaction, bus, each.event);
    results.push(ingested.kind === "taken" ? each : tooWide);
    bytes += ingested.kind === "taken" ? ingested.bytes : 0;
  }
  return results;
};

const denied: EntryRefusal = {
  code: "AccessDeniedException",
  message: "Not authorized to put events on the event bus.",
};

const tooWide: EntryRefusal = { code: "LimitExceededException", message: tooWideMessage };

const notPut: EntryRefusal = { code: "InternalFailure", message: "The event was not put. Put it again." };

interface Accepted {
  readonly bus: BusReference;
  readonly event: NewEvent;
}

type Judged = Accepted | EntryRefusal;

const judgeEntry = (entry: PutEventsRequestEntry, context: CallContext<Application>, depthMax: number): Judged => {
  const { app, caller } = context;
  const refusal = refuseEntry(entry, app.services.has(caller.issuer), depthMax);
  if (refusal !== undefined) return refusal;
  return {
    bus: parseBusReference(entry.eventBusName, caller.accountId),
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
export const testEventPattern: Operation<"testEventPattern"> = async (request, context) => {
  const pattern = parseGivenPattern(request.eventPattern);
  if (!isEvent(request.event, revisionOf(context).depthMax))
    throw fault(ErrorReason.PARAMETER_NOT_VALID, { parameter: "Event" });
  const matcher = new Matcher<true>().with([{ name: "", pattern, item: true }]);
  return { result: matcher.match(flattenText(request.event, matcher.wants)).length > 0 };
};

const isEvent = (text: string, depthMax: number): boolean => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return false;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return false;
  if (nestingDepth(text) > depthMax) return false;
  return mandatoryFields.every((field) => Object.hasOwn(parsed, field));
};
