import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Arn } from "../../kit/arn/arn.ts";

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
  readonly eventId: string;
  /** The same in all attempts of a delivery and in no other delivery, so that a service may drop repetitions. */
  readonly deliveryId: string;
  /** When the bus accepted the event, in milliseconds since 1970. */
  readonly ingestedMs: number;
  /** The base address of the service, without a slash at its end. */
  readonly endpoint: string;
}

/** A request to a service, before it is signed. */
export interface ServiceRequest {
  /** Unset: POST. */
  readonly method?: string;
  /** After the base address. Unset: "/". */
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A call of an API that names its operation in a header. Members that are undefined are left out. */
export const targetCall = (operation: string, version: "1.0" | "1.1", members: object): ServiceRequest => ({
  headers: { "content-type": `application/x-amz-json-${version}`, "x-amz-target": operation },
  body: JSON.stringify(members),
});

/** A call of an API that names its operation by method and path. */
export const restCall = (path: string, members: object, method: "POST" | "PUT" = "POST"): ServiceRequest => ({
  method,
  path,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(members),
});

/** A call of an API that takes a form. */
export const formCall = (members: Readonly<Record<string, string | undefined>>): ServiceRequest => ({
  headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" },
  body: new URLSearchParams(
    Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== undefined),
  ).toString(),
});

/** The last part of a resource, after a slash or a colon. */
export const nameIn = ({ resource }: Arn): string => /[^/:]+$/.exec(resource)?.[0] ?? resource;

/** The name of the log group that an ARN names. */
export const logGroupName = ({ resource }: Arn): string => resource.replace(/^log-group:/, "").replace(/:\*$/, "");
