import { fromBinary } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";

import type { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { ObjectEventRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ObjectEventRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import type { Minter } from "../../kit/identity/tokens.ts";
import type { JobHandler, JobPolicy } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import type { EmitDialect } from "../domain/object-event.ts";
import { busEntryOf } from "../domain/object-event.ts";

/** What deliveries need. */
export interface DeliveryOptions {
  readonly eventBus: Pick<Client<typeof EventBusService>, "putEvents">;
  readonly minter: Minter;
  readonly dialect: EmitDialect;
}

const dayMs = 24 * 60 * 60 * 1000;
const deliveryTimeoutMs = 10_000;

/** Answers of the bus that another try does not change. */
const finalCodes: ReadonlySet<Code> = new Set([Code.InvalidArgument, Code.Unimplemented]);

/** A bus that is down delays: deliveries are tried for years, at most a minute apart. */
export const deliveryPolicy: JobPolicy = {
  attemptsMax: Number.MAX_SAFE_INTEGER,
  ageMsMax: 3650 * dayMs,
  backoff: exponentialBackoff({ firstMs: 200, maxMs: 60_000 }),
};

/**
 * Tells the event bus of one change, with a token that names the principal who made it. The bus may be told twice when
 * its answer is lost; consumers know repetitions by the sequencer.
 */
export const deliverEvent =
  ({ eventBus, minter, dialect }: DeliveryOptions): JobHandler =>
  async (job, { signal }) => {
    const event = fromBinary(ObjectEventRecordSchema, job.payload);
    const token = await minter.mint(requesterOf(event), "event-bus");
    try {
      const { entries } = await eventBus.putEvents(
        { entries: [busEntryOf(event, dialect)] },
        { headers: { authorization: `Bearer ${token}` }, signal, timeoutMs: deliveryTimeoutMs },
      );
      const refusal = entries.find((entry) => entry.errorCode !== undefined);
      if (refusal === undefined) return { done: true };
      return { retry: true, reason: `${refusal.errorCode}: ${refusal.errorMessage}` };
    } catch (error) {
      const { code, message } = ConnectError.from(error);
      return finalCodes.has(code) ? { failed: true, reason: message } : { retry: true, reason: message };
    }
  };

/** The original principal. Its policies do not matter: that the bucket's owner asked for the telling is what allows it. */
const requesterOf = (event: ObjectEventRecord): Caller => ({
  accountId: event.requesterAccountId,
  principalArn: event.requesterArn,
  isRoot: event.isRequesterRoot,
  isAnonymous: false,
  policies: [],
  isPreauthorized: true,
  issuer: "",
  ...(event.sourceIpAddress === "" ? {} : { sourceIp: event.sourceIpAddress }),
});
