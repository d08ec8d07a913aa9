import { createHash } from "node:crypto";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import { PutEventsRequestSchema } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { PutEventsResponse } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { responseDocument } from "../bindings/bind-response.ts";
import type { CloudEvent } from "../cloud-events/read-cloud-events.ts";
import { readCloudEvents } from "../cloud-events/read-cloud-events.ts";
import type { Gateway } from "../gateway.ts";
import { decodePercent } from "../http/percent.ts";
import type { QueryParameters } from "../http/query.ts";
import type { RequestHead } from "../http/request-head.ts";
import { ErrorReason, malformedBody, refusal } from "../refusal.ts";
import type { HttpExchange } from "./exchange.ts";
import { idHeaders, sendAnswer } from "./render.ts";
import type { Answer, AuthenticatedRequest, BoundCall, Identity } from "./stages.ts";

const path = "/cloudevents";
/** The parameter of the query that asks for each CloudEvent to be put once. */
const deduplicateParameter = "deduplicate";

/** CloudEvents that stand for a PutEvents. */
export interface BoundCloudEvents extends BoundCall {
  readonly isBatch: boolean;
}

/** Whether a request puts CloudEvents on a bus: `/event-bus/cloudevents`, with the name of a bus after it or none. */
export const isCloudEvents = (identity: Identity): boolean =>
  identity.binding.api.name === "event-bus" && (identity.path === path || identity.path.startsWith(`${path}/`));

/**
 * Binds CloudEvents as a PutEvents. The source and the type of each are those of its entry, and the whole event in the
 * JSON format is the detail. With `?deduplicate=true`, an event that was put is not put again for as long as the bus
 * remembers its source and id. Throws UNKNOWN_OPERATION for another method than POST, REPEATED_PARAMETER and
 * MALFORMED_BODY for the parameter, and what `readCloudEvents` throws.
 */
export const bindCloudEvents = (
  head: RequestHead,
  { binding, path: target }: Identity,
  { body }: AuthenticatedRequest,
): BoundCloudEvents => {
  if (head.method !== "POST") throw refusal(ErrorReason.UNKNOWN_OPERATION);
  const isDeduplicated = asksForDeduplication(head.query);
  const { events, isBatch } = readCloudEvents(head.headers, body ?? Buffer.alloc(0));
  const method = binding.operations.get("PutEvents");
  if (method === undefined) throw refusal(ErrorReason.UNKNOWN_OPERATION);
  const eventBusName = decodePercent(target.slice(path.length + 1)) || undefined;
  const entries: MessageInitShape<typeof PutEventsRequestSchema>["entries"] = events.map(
    ({ id, source, type, timeMs, json }) => ({
      source,
      detailType: type,
      detail: json,
      ...(isDeduplicated && { deduplicationId: deduplicationIdOf({ id, source }) }),
      ...(timeMs !== undefined && { time: timestampFromMs(timeMs) }),
      ...(eventBusName !== undefined && { eventBusName }),
    }),
  );
  return { binding, method, message: create(PutEventsRequestSchema, { entries }), more: undefined, isBatch };
};

const asksForDeduplication = (query: QueryParameters): boolean => {
  const [value = "false", ...others] = query.getAll(deduplicateParameter);
  if (others.length > 0) throw refusal(ErrorReason.REPEATED_PARAMETER, { parameter: deduplicateParameter });
  if (value !== "true" && value !== "false")
    throw malformedBody(`The parameter ${deduplicateParameter} is true or false.`);
  return value === "true";
};

/** Producers give each of their events an id of its own, so the source and the id are one event. */
const deduplicationIdOf = ({ source, id }: Pick<CloudEvent, "source" | "id">): string =>
  `cloudevent/${createHash("sha256")
    .update(JSON.stringify([source, id]))
    .digest("hex")}`;

/** The statuses of refused entries; all others are 400. */
const statuses: Readonly<Record<string, number>> = { AccessDeniedException: 403, InternalFailure: 500 };

/**
 * Answers with the document of PutEvents. A single event that was refused is answered with a status that says so; a
 * batch with 200, because some of its events may have been accepted.
 */
export const renderCloudEvents = async (
  gateway: Gateway,
  exchange: HttpExchange,
  identity: Identity,
  bound: BoundCloudEvents,
  outcome: Promise<Answer>,
): Promise<void> => {
  const { message } = await outcome;
  const [first] = (message as PutEventsResponse).entries;
  const refused = bound.isBatch ? undefined : first?.errorCode;
  const status = refused === undefined ? 200 : (statuses[refused] ?? 400);
  const document = responseDocument(bound.method, message, bound.binding.codec, identity.spelling, exchange.requestId);
  const headers = { ...idHeaders(gateway, exchange, identity), "content-type": "application/json" };
  sendAnswer(exchange, { status, headers }, document?.body);
};
