/**
 * Events. An event that is answered with an id is durable together with its deliveries.
 *
 * PutEvents checks, in order:
 * 1. the global endpoint, if one is named, exists;
 * 2. the entries are not too large together;
 * 3. the deduplication id of the call, if it has one, has 1 to 120 printable characters.
 *
 * Then each entry is checked on its own, in order:
 * 1. `refuseEntry` has no refusal;
 * 2. the guard has allowed the caller to put it;
 * 3. it names the bus of the global endpoint, or none, if one is named;
 * 4. its deliveries are not too large together.
 *
 * An accepted entry with the deduplication id of another that was put in the last five minutes is answered with its
 * event. The id is looked for and recorded in the transaction that puts the event.
 *
 * Entries for a global endpoint are put in its first region while that is healthy, and otherwise in the second: here,
 * or by a call of the other region, and here if that cannot be reached. With replication the other of the two regions
 * is given a copy. An entry for a bus of the account that does not
 * exist is accepted, stored and not delivered.
 *
 * TestEventPattern checks, in order:
 * 1. the pattern is valid;
 * 2. the event has the members of an event.
 */
import { timestampMs } from "@bufbuild/protobuf/wkt";

import type { PutEventsRequestEntry } from "../../../gen/quartet/eventbus/v1/event_pb.ts";
import type { RequestHeaders } from "../../kit/server/request-headers.ts";
import type { Transaction } from "../../kit/store/store.ts";
import { mayUseReservedSource } from "../access/put-access.ts";
import type { Application, Operation, OperationContext } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import { parseBusReference } from "../domain/arns.ts";
import { parseRequestPattern } from "../domain/pattern.ts";
import type { EndpointRoute } from "../delivery/endpoint-route.ts";
import { endpointRoute } from "../delivery/endpoint-route.ts";
import { originRegion, withOriginRegion } from "../domain/origin-region.ts";
import type { EntryRefusal } from "../domain/put-entry.ts";
import { entriesBytesMax, entryBytes, refuseEntry } from "../domain/put-entry.ts";
import { ErrorReason, fault } from "../faults.ts";
import type { NewEvent, OpenBus } from "../ingestion/ingest.ts";
import { ingestEvent, openBus, tooLargeMessage } from "../ingestion/ingest.ts";
import type { Deduplication } from "../store/deduplication.ts";
import { findDuplicate, putDeduplication } from "../store/deduplication.ts";
import { findEndpointById } from "../store/global-endpoint.ts";
import { nestingDepth } from "../json/json-cursor.ts";
import { matchesEvent } from "../pattern/failed-field.ts";
import { flattenText } from "../pattern/flatten.ts";
import { parseJson } from "../../kit/json/parse-json.ts";
import { currentGivenUp } from "../../kit/trace/current-trace.ts";

/** Puts events on buses. Repeating the call puts them again, except for entries with a deduplication id. */
export const putEvents: Operation<"putEvents"> = async (request, context) => {
  const route = request.endpointId === undefined ? undefined : await routeOf(request.endpointId, context);
  const bytes = request.entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
  if (bytes > entriesBytesMax) throw fault(ErrorReason.ENTRIES_TOO_LARGE);

  const callId = deduplicationIdOf(context.requestHeader);
  const entries = request.entries.map((entry, index) =>
    checkEntry(
      entry,
      { index, deduplicationId: entry.deduplicationId ?? (callId && `${callId}/${index}`) },
      context,
      route,
    ),
  );
  const results = entries.some((entry) => "event" in entry) ? await putByRoute(entries, context, route) : entries;

  return {
    failedEntryCount: results.filter((result) => "code" in result).length,
    entries: results.map((result) =>
      "event" in result ? { eventId: result.event.id } : { errorCode: result.code, errorMessage: result.message },
    ),
  };
};

/** The request header, or RPC metadata, that gives an id to the entries of a call. */
const deduplicationHeader = "x-svc-deduplication-id";

/** The deduplication id of a call, for clients that know no such member of entries. Throws PARAMETER_REFUSED. */
const deduplicationIdOf = (requestHeader: RequestHeaders): string | undefined => {
  const id = requestHeader.get(deduplicationHeader);
  if (id === null || /^[!-~]{1,120}$/.test(id)) return id ?? undefined;
  const reason = "Must have 1 to 120 printable characters.";
  throw fault(ErrorReason.PARAMETER_REFUSED, { parameter: deduplicationHeader, reason });
};

/** The route of an endpoint. Throws PARAMETER_REFUSED. */
const routeOf = async (text: string, { app, access, caller }: OperationContext): Promise<EndpointRoute> => {
  const { hasEndpoints, name } = access.revision;
  const endpoint = hasEndpoints
    ? await app.store.read((reader) => findEndpointById(reader, caller.accountId, text))
    : undefined;
  if (endpoint !== undefined) return endpointRoute(app, caller.accountId, endpoint);
  const reason = hasEndpoints ? `Endpoint ${text} does not exist.` : `Revision ${name} has no global endpoints.`;
  throw fault(ErrorReason.PARAMETER_REFUSED, { parameter: "EndpointId", reason });
};

/** Puts the accepted events in the other region, if they belong there and it can be reached, and otherwise here. */
const putByRoute = async (
  entries: readonly CheckedEntry[],
  context: OperationContext,
  route: EndpointRoute | undefined,
): Promise<CheckedEntry[]> => {
  if (route === undefined || route.isHere) return putInParts(entries, context, route);
  const { signal } = context;
  const results: CheckedEntry[] = [];
  const copies: AcceptedEntry[] = [];
  for (const entry of entries) {
    const remote =
      "event" in entry
        ? await context.app.regions.put(
            route.region,
            route.busArn,
            { ...entry.event, deduplicationId: entry.deduplication?.id },
            signal,
          )
        : undefined;
    if (remote === undefined) results.push(entry);
    else if ("eventId" in remote && "event" in entry) {
      const event = { ...entry.event, id: remote.eventId };
      results.push({ ...entry, event });
      if (route.replicating.replication !== undefined) copies.push({ ...entry, event: replicaOf(event, route) });
    } else results.push(...(await putInParts([entry], context, route)));
  }
  // The other region does not know that its events came by the endpoint, so the copies of this one are made here.
  if (copies.length > 0) await putInParts(copies, context, undefined);
  return results;
};

/** The copy of an event that was put in the other region. */
const replicaOf = (event: NewEvent, { region, endpointArn }: EndpointRoute): NewEvent => ({
  ...event,
  region,
  endpointArn: undefined,
  resources: [...event.resources, endpointArn],
  traceHeader: withOriginRegion(event.traceHeader, region),
});

/**
 * Puts the accepted events in as few transactions as possible: in one, unless many targets have large inputs. If a
 * later transaction fails, its entries are answered as not put, and the earlier ones remain.
 */
const putInParts = async (
  entries: readonly CheckedEntry[],
  context: OperationContext,
  route: EndpointRoute | undefined,
): Promise<CheckedEntry[]> => {
  const { store, log } = context.app;
  const results: CheckedEntry[] = [];
  try {
    while (results.length < entries.length) {
      const rest = entries.slice(results.length);
      results.push(...(await store.transact((transaction) => putAccepted(transaction, rest, context, route))));
    }
  } catch (error) {
    if (results.length === 0) throw error;
    log.error({ err: error }, "some entries of a call were put, and the rest was not");
    results.push(...entries.slice(results.length).map((entry) => ("code" in entry ? entry : notPut)));
  }
  return results;
};

/** Puts each accepted event on its bus, until the transaction is full. */
const putAccepted = async (
  transaction: Transaction,
  entries: readonly CheckedEntry[],
  { app }: OperationContext,
  route: EndpointRoute | undefined,
): Promise<CheckedEntry[]> => {
  const buses = new Map<string, OpenBus>();
  const results: CheckedEntry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (bytes >= app.limits.deliveriesBytesMax) break;
    if ("code" in entry) {
      results.push(entry);
      continue;
    }
    const { deduplication } = entry;
    const nowMs = app.clock.now();
    const earlierId = deduplication && (await findDuplicate(transaction, deduplication, nowMs));
    if (earlierId !== undefined) {
      results.push({ ...entry, event: { ...entry.event, id: earlierId } });
      continue;
    }
    const name = `${entry.bus.account}/${entry.bus.name}`;
    const bus = buses.get(name) ?? { ...(await openBus(app, transaction, entry.bus)), ...route?.replicating };
    buses.set(name, bus);
    const ingested = await ingestEvent(app, transaction, bus, entry.event);
    if (deduplication !== undefined && ingested.kind === "ingested")
      putDeduplication(transaction, deduplication, nowMs, entry.event.id);
    results.push(ingested.kind === "ingested" ? entry : tooLarge);
    bytes += ingested.kind === "ingested" ? ingested.bytes : 0;
  }
  return results;
};

const denied: EntryRefusal = {
  code: "AccessDeniedException",
  message: "Not authorized to put events on the event bus.",
};

const tooLarge: EntryRefusal = { code: "LimitExceededException", message: tooLargeMessage };

const notPut: EntryRefusal = { code: "InternalFailure", message: "The event was not put. Put it again." };

/** An accepted entry: its bus and its event. */
interface AcceptedEntry {
  readonly bus: BusReference;
  readonly event: NewEvent;
  /** Unset: the entry is put each time. */
  readonly deduplication?: Deduplication | undefined;
}

type CheckedEntry = AcceptedEntry | EntryRefusal;

const checkEntry = (
  entry: PutEventsRequestEntry,
  { index, deduplicationId: id }: { readonly index: number; readonly deduplicationId: string | undefined },
  { app, access, caller }: OperationContext,
  route: EndpointRoute | undefined,
): CheckedEntry => {
  const refusal = refuseEntry(entry, mayUseReservedSource(caller), access.revision.depthMax);
  if (refusal !== undefined) return refusal;
  if (access.refusedEntries.has(index)) return denied;
  const named = parseBusReference(entry.eventBusName, caller.accountId, app.arnScope);
  if (route !== undefined && (entry.eventBusName ?? "") !== "" && named.name !== route.bus.name)
    return { code: "InvalidArgument", message: `The endpoint has no event bus ${named.name}.` };
  const bus = route?.bus ?? named;
  return {
    bus,
    deduplication: id === undefined ? undefined : { bus, sender: caller.accountId, id },
    event: {
      endpointArn: route?.endpointArn,
      id: app.ids.uuid(),
      detailType: entry.detailType ?? "",
      source: entry.source ?? "",
      account: caller.accountId,
      timeMs: BigInt(entry.time === undefined ? app.clock.now() : timestampMs(entry.time)),
      region: regionOf(entry, app),
      resources: entry.resources,
      detail: entry.detail ?? "",
      traceHeader: entry.traceHeader,
      replayName: undefined,
      hops: 0,
    },
  };
};

/** The region in which an event was first put: a known one from which it was sent here, or this one. */
const regionOf = ({ traceHeader }: PutEventsRequestEntry, { regions, arnScope }: Application): string => {
  const origin = originRegion(traceHeader);
  return origin !== undefined && regions.has(origin) ? origin : arnScope.region;
};

/** The members that every event has. */
const mandatoryFields = ["id", "account", "source", "time", "region", "resources", "detail-type"];

/** Returns whether an event matches a pattern. */
export const testEventPattern: Operation<"testEventPattern"> = async (request, { access, caller }) => {
  const pattern = parseRequestPattern(request.eventPattern);
  if (!isEvent(request.event, access.revision.depthMax))
    throw fault(ErrorReason.PARAMETER_NOT_VALID, { parameter: "Event" });
  const asker = { owner: caller.accountId, givenUp: currentGivenUp() };
  return { result: await matchesEvent(pattern, (wanted) => flattenText(request.event, wanted), asker) };
};

const isEvent = (text: string, depthMax: number): boolean => {
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch {
    return false;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return false;
  if (nestingDepth(text) > depthMax) return false;
  return mandatoryFields.every((field) => Object.hasOwn(parsed, field));
};
