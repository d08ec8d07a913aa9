import type { LoggingEnabled } from "../../../gen/quartet/objectstorage/v1/logging_pb.ts";
import type { AccessLogLineRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { isStillAhead } from "../../kit/clock/clock.ts";
import { ServiceError } from "../../kit/faults/service-error.ts";
import type { Logger } from "../../kit/log/log.ts";
import { walkTable } from "../../kit/store/walk-table.ts";
import { isLogWriteGranted } from "../logging/delivery-permission.ts";
import type { Application } from "../application.ts";
import { isByEventDay, logGrants, logObjectKey } from "../domain/logging.ts";
import { limits } from "../limits.ts";
import type { Bucket } from "../store/bucket.ts";
import { findBucket } from "../store/bucket.ts";
import { findDocument } from "../store/configuration.ts";
import type { AccessLogEntry } from "../store/access-logs.ts";
import { accessLogs, bytesOfLines } from "../store/access-logs.ts";
import type { InventoryOptions } from "./inventory.ts";

/** What access logs are delivered with. */
interface LogDeliveryOptions {
  readonly app: Application;
  readonly log: Logger;
  readonly put: InventoryOptions["put"];
}

/** Entries that are read at a time. */
const pageEntries = 64;
/** The documented permission of log objects and their type. */
const contentType = "text/plain";

/** The delivery of access logs. */
export interface LogDelivery {
  /** Delivers everything that waits, after a run that goes on. */
  run(signal: AbortSignal): Promise<void>;
}

/** The delivery of access logs, of which one run goes on at a time. */
export const createLogDelivery = (options: LogDeliveryOptions): LogDelivery => {
  let running: Promise<void> = Promise.resolve();
  return {
    run(signal) {
      const before = running.catch(() => undefined);
      running = before.then(() => deliverAccessLogs(options, signal));
      return running;
    },
  };
};

/**
 * Puts all lines that wait into objects of their targets, as far as the targets let the service that delivers logs
 * write; lines of a target that does not are dropped and counted, as are those of logs that have ended. A damaged entry
 * is passed over, so that it holds up no other, and so is what is stored meanwhile: a bucket that gets lines all the
 * time would hold up those after it. A line is deleted after its object was put: a crash between both delivers it
 * again. What fails otherwise is tried again in the next round.
 */
const deliverAccessLogs = async (options: LogDeliveryOptions, signal: AbortSignal): Promise<void> => {
  const { app } = options;
  await app.accessLogs.flush();
  app.accessLogs.beginDelivery();
  const beganMs = app.clock.now();
  let after: AccessLogEntry["key"] | undefined;
  for (;;) {
    const entries = await gather(app, beganMs, after);
    const [first] = entries;
    if (first === undefined) break;
    if (signal.aborted) return;
    after = entries.at(-1)?.key;
    if (await deliver(options, entries, signal)) app.accessLogs.leave(entries);
    else app.accessLogs.keep(entries);
  }
  app.accessLogs.endDelivery();
  await app.store.reclaim(accessLogs, {});
};

/** The next entries of one bucket that were stored before the delivery began, up to the size of an object. */
const gather = (
  app: Application,
  beganMs: number,
  start: AccessLogEntry["key"] | undefined,
): Promise<AccessLogEntry[]> =>
  app.store.read(async (reader) => {
    const gathered: AccessLogEntry[] = [];
    let bytes = 0;
    let after = start;
    for (;;) {
      const walked = walkTable(reader, accessLogs, { after, limit: pageEntries });
      const page = await Array.fromAsync(walked);
      for (const entry of page) {
        if (entry.value === undefined) continue;
        if (isStillAhead(entry.key[1], limits.accessLogDeliveryMsMax, beganMs)) continue;
        const [first] = gathered;
        if (first !== undefined && first.key[0] !== entry.key[0]) return gathered;
        if (first !== undefined && bytes >= limits.accessLogObjectBytesMax) return gathered;
        gathered.push(entry);
        bytes += bytesOfLines(entry);
      }
      if (page.length < pageEntries) return gathered;
      after = page.at(-1)?.key;
    }
  });

/** Whether the entries are done with: delivered, or dropped. */
const deliver = async (
  options: LogDeliveryOptions,
  entries: readonly AccessLogEntry[],
  signal: AbortSignal,
): Promise<boolean> => {
  const { app, log } = options;
  const lines = entries.flatMap(({ value }) => value.lines);
  const bucket = entries[0]?.value.bucket ?? "";
  try {
    const plan = await planDelivery(app, entries);
    if (plan === undefined) app.accessLogs.drop(lines.length);
    else for (const part of partsOf(plan.logging, lines)) await putLines(options, plan, part, signal);
  } catch (error) {
    if (signal.aborted) return false;
    log.error({ err: error, bucket }, "an access log was not delivered");
    if (!(error instanceof ServiceError)) return false;
    app.accessLogs.drop(lines.length);
  }
  await app.store.transact((transaction) => {
    for (const { key } of entries) transaction.delete(accessLogs, key);
  });
  return true;
};

/** The log of a bucket as it is now, and its target. */
interface DeliveryPlan {
  readonly source: Bucket;
  readonly target: Bucket;
  readonly logging: LoggingEnabled;
}

/** Undefined: the log has ended, or its target does not take it. */
const planDelivery = (app: Application, [first]: readonly AccessLogEntry[]): Promise<DeliveryPlan | undefined> =>
  app.store.read(async (reader) => {
    const source = await findBucket(reader, first?.value.bucket ?? "");
    if (source === undefined || source.bucketId !== first?.key[0] || !source.hasLogging) return undefined;
    const logging = await findDocument(reader, source.bucketId, "logging");
    const target = logging && (await findBucket(reader, logging.targetBucket ?? ""));
    if (logging === undefined || target?.accountId !== source.accountId) return undefined;
    const isGranted = await isLogWriteGranted(reader, app, source, target, `${logging.targetPrefix ?? ""}2000-`);
    return isGranted ? { source, target, logging } : undefined;
  });

/** The lines by objects: those of one day together where keys name the day of the request. */
const partsOf = (logging: LoggingEnabled, lines: readonly AccessLogLineRecord[]): AccessLogLineRecord[][] =>
  isByEventDay(logging)
    ? [...Map.groupBy(lines, ({ timeMs }) => Math.floor(Number(timeMs) / dayMs)).values()]
    : [[...lines]];

const dayMs = 86_400_000;

const putLines = async (
  { app, put }: LogDeliveryOptions,
  { source, target, logging }: DeliveryPlan,
  lines: readonly AccessLogLineRecord[],
  signal: AbortSignal,
): Promise<void> => {
  const key = logObjectKey(logging, {
    bucket: source.name,
    accountId: source.accountId,
    region: source.region,
    eventMs: Number(lines[0]?.timeMs ?? 0),
    deliveryMs: app.clock.now(),
    unique: app.ids.hex(16).toUpperCase(),
  });
  const object = { bucket: target.name, key, contentType, ...logGrants(logging) };
  const body = Buffer.from(lines.map(({ text }) => `${text}\n`).join(""));
  await put(target.accountId, object, once(body), signal);
};

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}
