import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { ObjectEventRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { NotificationRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import type { NotificationConfiguration } from "../../../gen/quartet/objectstorage/v1/notification_pb.ts";
import type { Arn } from "../../kit/arn/arn.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import type { JobHandler, JobPolicy, Jobs } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Metrics } from "../../kit/metrics/metrics.ts";
import { invokeWithEvent } from "../../kit/outgoing/function-invocation.ts";
import { sendMessage } from "../../kit/outgoing/queue-message.ts";
import type { ServiceClient, ServiceEndpoint } from "../../kit/outgoing/service-client.ts";
import type { ServiceRequest } from "../../kit/outgoing/service-request.ts";
import { publishMessage } from "../../kit/outgoing/topic-message.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Destination, NotifiedService } from "../domain/notification.ts";
import { notifiedOf } from "../domain/notification.ts";
import { notificationMessage, notifiedNameOf, testMessage } from "../domain/notification-message.ts";
import type { EmitDialect } from "../domain/object-event.ts";
import { limits } from "../limits.ts";
import { addWaiting, countWaiting } from "../store/waiting-notifications.ts";

/** The kind of the jobs that notify queues, topics and functions. */
export const notificationJob = "notification";

/** The pool of these jobs, with which their owners begin, one for each destination of an account. */
export const notificationPool = "notifications";

/** Where the services of destinations are reached. Unset: nowhere. */
export type NotifiedEndpoints = Readonly<Partial<Record<NotifiedService, ServiceEndpoint | undefined>>>;

/** The dependencies of notifications. */
interface NotificationOptions {
  readonly jobs: () => Pick<Jobs, "enqueue">;
  readonly client: ServiceClient;
  readonly endpoints: NotifiedEndpoints;
  readonly dialect: EmitDialect;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A message that could not be sent is sent again, also while its destination does not exist or permit it. */
export const notificationPolicy: JobPolicy = {
  attemptsMax: Number.POSITIVE_INFINITY,
  ageMsMax: limits.notificationAgeMsMax,
  backoff: exponentialBackoff({ firstMs: limits.deliveryRetryMsMin, maxMs: limits.deliveryRetryMsMax }),
  onExhausted: (transaction, { payload }) => addWaiting(transaction, accountOf(payload), -1),
};

const accountOf = (payload: Uint8Array): string =>
  fromBinary(NotificationRecordSchema, payload).event?.bucketAccountId ?? "";

/** Notifies the queues, topics and functions of buckets. */
export class Notifications {
  readonly #options: NotificationOptions;
  /** Notifications that were left out, because too many of their account wait. */
  #dropped = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;

  constructor(options: NotificationOptions) {
    this.#options = options;
  }

  /** The services that are reached. */
  get reached(): ReadonlySet<NotifiedService> {
    const { endpoints } = this.#options;
    return new Set((["sqs", "sns", "lambda"] as const).filter((service) => endpoints[service] !== undefined));
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Adds the notifications of an event to the transaction of the change: both are committed or neither. */
  async announce(
    transaction: Transaction,
    configuration: NotificationConfiguration,
    event: ObjectEventRecord,
  ): Promise<void> {
    const notified = notifiedOf(configuration, `s3:${notifiedNameOf(event)}`, event.key);
    if (notified.length === 0) return;
    const account = event.bucketAccountId;
    if ((await countWaiting(transaction.snapshot, account)) >= limits.notificationsWaitingMax) {
      transaction.afterCommit(() => this.#drop(account, notified.length));
      return;
    }
    addWaiting(transaction, account, notified.length);
    for (const { id, arn } of notified) {
      const record = create(NotificationRecordSchema, { event, configurationId: id, destinationArn: arn });
      const payload = toBinary(NotificationRecordSchema, record);
      const owner = `${notificationPool}/${account}/${arn}`;
      this.#options.jobs().enqueue(transaction, { kind: notificationJob, owner, payload });
    }
  }

  /** Sends one notification. If its answer is lost it is sent again; the sequencer is the same. */
  readonly deliver: JobHandler = async ({ id, payload }, { signal }) => {
    const { event, configurationId, destinationArn } = fromBinary(NotificationRecordSchema, payload);
    const apply = (transaction: Transaction) => addWaiting(transaction, accountOf(payload), -1);
    if (event === undefined) return { done: true, apply };
    const message = notificationMessage(event, configurationId, this.#options.dialect);
    const problem = await this.#send(destinationArn, { message, id, key: event.key }, signal);
    return problem === undefined ? { done: true, apply } : { retry: true, reason: problem };
  };

  /** Tries a destination; resolves with why nothing can be sent to it, or undefined. Functions are not called. */
  async test(
    { service, arn }: Destination,
    tried: { readonly bucket: string; readonly requestId: string },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (service === "lambda") return undefined;
    const message = testMessage({ ...tried, timeMs: this.#options.clock.now() }, this.#options.dialect);
    return this.#send(arn, { message, id: tried.requestId, key: tried.bucket }, signal);
  }

  async #send(destination: string, sent: Sent, signal: AbortSignal): Promise<string | undefined> {
    const { client, endpoints } = this.#options;
    // A destination was checked when it was put.
    const parts = parseArn(destination)!;
    const service = parts.service as NotifiedService;
    const endpoint = endpoints[service];
    if (endpoint === undefined) return "no endpoint of this service is configured";
    const outcome = await client.call(endpoint, service, requestTo(parts, destination, endpoint, sent), signal);
    return outcome.kind === "delivered" ? undefined : `${outcome.code}: ${outcome.message}`;
  }

  #drop(account: string, count: number): void {
    const { clock, log } = this.#options;
    this.#dropped += count;
    if (clock.now() - this.#loggedMs < limits.notificationLogMs) return;
    this.#loggedMs = clock.now();
    log.error({ account, waiting: limits.notificationsWaitingMax }, "notifications are left out: too many wait");
  }
}

interface Sent {
  readonly message: string;
  /** The same in all attempts. */
  readonly id: string;
  readonly key: string;
}

const requestTo = (
  { service, account, resource }: Arn,
  destination: string,
  { url }: ServiceEndpoint,
  { message, id, key }: Sent,
): ServiceRequest => {
  switch (service as NotifiedService) {
    case "sqs":
      return sendMessage(
        url,
        { account, name: resource },
        { body: message, groupId: resource.endsWith(".fifo") ? groupOf(key) : undefined, deduplicationId: id },
      );
    case "sns":
      return publishMessage(destination, {
        subject: "Amazon S3 Notification",
        body: message,
        ...(resource.endsWith(".fifo") && { groupId: groupOf(key), deduplicationId: id }),
      });
    case "lambda":
      return invokeWithEvent(destination, message);
  }
};

/** The group of a key in destinations that keep the order, which take 128 characters without spaces. */
const groupOf = (key: string): string => Buffer.from(key).toString("base64url").slice(-128);

/** Adds the metric of notifications that were left out. */
export const notificationMetrics = (metrics: Metrics, notifications: Notifications): void => {
  metrics.add({
    name: "notifications_dropped_total",
    help: "Notifications of buckets that were left out, because too many of their account waited.",
    type: "counter",
    read: () => [{ labels: {}, value: notifications.dropped }],
  });
};
