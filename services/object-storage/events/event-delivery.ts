import { fromBinary } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";

import type { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { ObjectEventRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ObjectEventRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import { rootCaller } from "../../kit/identity/caller.ts";
import type { Minter } from "../../kit/identity/tokens.ts";
import type { JobHandler, JobPolicy } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import type { EmitDialect } from "../domain/object-event.ts";
import { busEntryOf } from "../domain/object-event.ts";
import { limits } from "../limits.ts";

/** The dependencies of deliveries. */
export interface DeliveryOptions {
  readonly eventBus: Pick<Client<typeof EventBusService>, "putEvents">;
  readonly minter: Minter;
  readonly dialect: EmitDialect;
}

/** Refusals of the bus that another attempt does not change. */
const finalCodes: ReadonlySet<Code> = new Set([Code.InvalidArgument, Code.Unimplemented]);

/** A bus that is not available delays deliveries; none is given up within ten years. */
export const eventDeliveryPolicy: JobPolicy = {
  attemptsMax: Number.MAX_SAFE_INTEGER,
  ageMsMax: limits.deliveryAgeMsMax,
  backoff: exponentialBackoff({ firstMs: limits.deliveryRetryMsMin, maxMs: limits.deliveryRetryMsMax }),
};

/**
 * Sends one change to the event bus, with a token that names the principal who made it. If the bus's answer is lost,
 * the event is sent again; consumers recognize repetitions by the sequencer.
 */
export const deliverEvent =
  ({ eventBus, minter, dialect }: DeliveryOptions): JobHandler =>
  async (job, { signal }) => {
    const event = fromBinary(ObjectEventRecordSchema, job.payload);
    const token = await minter.mint(requesterOf(event), "event-bus");
    try {
      const { entries } = await eventBus.putEvents(
        { entries: [busEntryOf(event, dialect)] },
        { headers: { authorization: `Bearer ${token}` }, signal, timeoutMs: limits.deliveryTimeoutMs },
      );
      const refusal = entries.find((entry) => entry.errorCode !== undefined);
      if (refusal === undefined) return { done: true };
      return { retry: true, reason: `${refusal.errorCode}: ${refusal.errorMessage}` };
    } catch (error) {
      const { code, message } = ConnectError.from(error);
      return finalCodes.has(code) ? { failed: true, reason: message } : { retry: true, reason: message };
    }
  };

/**
 * The original principal; the owner's root for one of another account or for nobody, because events go to the bus of
 * the bucket's owner. Policies are not evaluated: the owner, who configured the notification, allowed it.
 */
const requesterOf = (event: ObjectEventRecord): Caller => ({
  ...(event.requesterAccountId === event.bucketAccountId
    ? { ...rootCaller(event.bucketAccountId), principalArn: event.requesterArn, isRoot: event.isRequesterRoot }
    : rootCaller(event.bucketAccountId)),
  isPreauthorized: true,
  ...(event.sourceIpAddress === "" ? {} : { sourceIp: event.sourceIpAddress }),
});
