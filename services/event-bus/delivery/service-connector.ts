import { parseArn } from "../../kit/arn/arn.ts";
import { parseJson } from "../../kit/json/parse-json.ts";
import { eventJson } from "../domain/envelope.ts";
import { PathReader } from "../json/json-path.ts";
import { attemptText } from "./attempt-content.ts";
import type { Connector, DeliveryAttempt } from "./connector.ts";
import type { ServiceClient, ServiceEndpoint } from "../../kit/outgoing/service-client.ts";
import type { ServiceKind } from "./service-kinds.ts";

/** Delivers by a call of the target's service at a configured endpoint. */
export const serviceConnector =
  (kind: ServiceKind, endpoint: ServiceEndpoint, client: ServiceClient): Connector =>
  async (attempt) => {
    const arn = parseArn(attempt.target.arn);
    const input = attemptText(attempt);
    if (typeof input !== "string") return input;
    if (arn === undefined) throw new Error(`${attempt.target.arn} is not an ARN`);
    const { event, target, ingestedMs, deliveryId, signal } = attempt;
    const json = eventJson(event);
    const call = {
      target,
      arn,
      input,
      ownInput: ownInput(attempt, input),
      event: json,
      paths: new PathReader(json),
      eventId: event.id,
      deliveryId,
      ingestedMs,
      endpoint: endpoint.url.replace(/\/$/, ""),
    };
    return client.call(endpoint, kind.endpoint, kind.request(call), signal, kind.creation?.(call));
  };

/** The input as an object, if the target itself sets one that is an object. */
const ownInput = (
  { target: { input, inputPath, inputTransformer } }: DeliveryAttempt,
  text: string,
): Readonly<Record<string, unknown>> | undefined => {
  if (input === undefined && inputPath === undefined && inputTransformer === undefined) return undefined;
  try {
    const value: unknown = parseJson(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
};
