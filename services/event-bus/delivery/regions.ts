import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { parseJson } from "../../kit/json/parse-json.ts";
import { classifyServiceAnswer } from "../../kit/outgoing/service-outcome.ts";
import type { AttemptOutcome } from "./connector.ts";
import { outcomeOfError } from "../../kit/outgoing/http-sender.ts";
import type { ServiceClient, ServiceEndpoint } from "../../kit/outgoing/service-client.ts";
import { targetCall } from "../../kit/outgoing/service-request.ts";

/** The outcome of an event that was put on a bus of another region. */
export type RemoteOutcome = { readonly eventId: string } | Exclude<AttemptOutcome, { readonly kind: "delivered" }>;

/** The parts of an event that another region receives. */
type RemoteEvent = Pick<EventRecord, "source" | "detailType" | "detail" | "resources" | "timeMs"> & {
  readonly traceHeader?: string | undefined;
  readonly deduplicationId?: string | undefined;
};

/** The other regions of which the installation knows the address: deployments of their own. */
export class Regions {
  readonly #endpoints: Readonly<Record<string, ServiceEndpoint | undefined>>;
  readonly #client: ServiceClient;

  constructor(endpoints: Readonly<Record<string, ServiceEndpoint | undefined>>, client: ServiceClient) {
    this.#endpoints = endpoints;
    this.#client = client;
  }

  has(region: string): boolean {
    return Object.hasOwn(this.#endpoints, region);
  }

  /** Puts an event on a bus of a region by PutEvents, signed with the key of that region. It gets an id of its own. */
  async put(region: string, busArn: string, event: RemoteEvent, signal: AbortSignal): Promise<RemoteOutcome> {
    const endpoint = this.#endpoints[region];
    if (endpoint === undefined)
      return { kind: "failed", code: "NO_RESOURCE", message: `Region ${region} is not reached from here.` };
    const entry = {
      Time: Number(event.timeMs) / 1_000,
      Source: event.source,
      DetailType: event.detailType,
      Detail: event.detail,
      Resources: event.resources,
      EventBusName: busArn,
      TraceHeader: event.traceHeader,
      DeduplicationId: event.deduplicationId,
    };
    try {
      const request = targetCall("AWSEvents.PutEvents", "1.1", { Entries: [entry] });
      const { status, body } = await this.#client.send(endpoint, "events", request, signal);
      const outcome = classifyServiceAnswer(status, body);
      return outcome.kind === "delivered" ? entryOutcome(body) : outcome;
    } catch (error) {
      return outcomeOfError(error);
    }
  }
}

const entryOutcome = (body: string): RemoteOutcome => {
  const answer = parseJson(body) as { readonly Entries?: readonly Readonly<Record<string, unknown>>[] };
  const { EventId: eventId, ErrorCode: code } = answer.Entries?.[0] ?? {};
  if (typeof eventId === "string") return { eventId };
  const message = `The other region answered ${String(code)}.`;
  return code === "InternalFailure" || code === "ThrottlingException"
    ? { kind: "retry", code: "ERROR_FROM_TARGET", message }
    : { kind: "failed", code: "CROSS_REGION_INGESTION_FAILED", message };
};
