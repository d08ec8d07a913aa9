import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { cloudEventData, cloudEventOf, structuredCloudEvent, structuredContentType } from "../domain/cloud-event.ts";
import { attemptInput } from "./attempt-input.ts";
import type { AttemptOutcome, DeliveryAttempt } from "./connector.ts";

/** What a target is sent. */
export interface AttemptContent {
  readonly body: string | Buffer;
  /** Undefined: JSON. */
  readonly contentType: string | undefined;
  /** The attributes of a CloudEvent whose data the body is; empty unless it is one in the binary mode. */
  readonly attributes: readonly (readonly [name: string, value: string])[];
}

/** The content of an attempt for a target that can be sent headers, or the outcome of one that cannot be made. */
export const attemptContent = (attempt: DeliveryAttempt): AttemptContent | AttemptOutcome => {
  const input = attemptInput(attempt);
  if (typeof input !== "string") return input;
  const mode = attempt.target.cloudEventParameters?.contentMode;
  if (mode === undefined) return { body: input, contentType: undefined, attributes: [] };
  const event = cloudEventOf(attempt.event, input, hasOwnInput(attempt.target));
  if (mode === "STRUCTURED")
    return { body: structuredCloudEvent(event), contentType: structuredContentType, attributes: [] };
  return { body: cloudEventData(event), contentType: event.dataContentType, attributes: event.attributes };
};

/** The text that a target without headers is sent, or the outcome of an attempt whose input cannot be made. */
export const attemptText = (attempt: DeliveryAttempt): string | AttemptOutcome => {
  const input = attemptInput(attempt);
  if (typeof input !== "string" || attempt.target.cloudEventParameters === undefined) return input;
  return structuredCloudEvent(cloudEventOf(attempt.event, input, hasOwnInput(attempt.target)));
};

const hasOwnInput = ({ input, inputPath, inputTransformer }: Target): boolean =>
  input !== undefined || inputPath !== undefined || inputTransformer !== undefined;
