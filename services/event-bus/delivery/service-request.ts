import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Arn } from "../../kit/arn/arn.ts";
import type { PathReader } from "../json/json-path.ts";

/** What a request to a service is made from. */
export interface ServiceCall {
  readonly target: Target;
  /** The parts of the target's ARN. */
  readonly arn: Arn;
  /** The target's input; the whole event unless the target sets another. */
  readonly input: string;
  /** The input as a JSON object, if the target itself sets one; otherwise undefined. */
  readonly ownInput: Readonly<Record<string, unknown>> | undefined;
  /** The whole event as JSON. */
  readonly event: string;
  /** Reads its paths. */
  readonly paths: PathReader;
  readonly eventId: string;
  /** The same in all attempts of a delivery and in no other delivery, so that a service may drop repetitions. */
  readonly deliveryId: string;
  /** When the bus accepted the event, in milliseconds since 1970. */
  readonly ingestedMs: number;
  /** The base address of the service, without a slash at its end. */
  readonly endpoint: string;
}

/** The last part of a resource, after a slash or a colon. */
export const nameIn = ({ resource }: Arn): string => /[^/:]+$/.exec(resource)?.[0] ?? resource;

/** The name of the log group that an ARN names. */
export const logGroupName = ({ resource }: Arn): string => resource.replace(/^log-group:/, "").replace(/:\*$/, "");
