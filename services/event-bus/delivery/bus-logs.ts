import type { EventBusRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import { SharedRoom } from "../../kit/collections/shared-room.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import type { ArnScope, BusReference } from "../domain/arns.ts";
import { busArn } from "../domain/arns.ts";
import type { BusLogFacts, BusLogLevel, BusLogStep } from "../domain/bus-log-record.ts";
import { busLogRecord, writesStep } from "../domain/bus-log-record.ts";
import { walkBuses } from "../store/bus.ts";

/**
 * Characters of the records of all destinations that wait to be written; later ones are left out and counted. Accounts
 * and their destinations share them; one destination alone has half of them.
 */
const waitingLengthMax = 128 * 1024 * 1024;
/** Records that one call writes, and their characters unless it is one record. */
const batchRecordsMax = 500;
const batchLengthMax = 900_000;
const flushMs = 500;

/** Writes records of a log to one kind of destination. */
export interface BusLogWriter {
  /** Writes records of an account at an instant. False: it may succeed later. Throws if it never will. */
  write(targetArn: string, account: string, records: readonly BusLogLine[]): Promise<boolean>;
}

/** One record. */
export interface BusLogLine {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly text: string;
}

interface BusLogsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly arnScope: ArnScope;
  /** The ARNs of the destinations, with `{region}`, `{account}` and `{bus}` in place of these. */
  readonly destinations: readonly string[];
  readonly writer: BusLogWriter;
}

/** The log of one bus. */
interface BusLog {
  readonly level: BusLogLevel;
  /** Whether records contain details of events and inputs of targets. */
  readonly isFull: boolean;
}

/** Records for one destination. */
interface Destination {
  readonly arn: string;
  readonly account: string;
  readonly waiting: BusLogLine[];
  left: number;
}

/**
 * The logs of the buses that have a LogConfig. Records are in memory for up to half a second: a crash loses them, and
 * so does a destination that accepts none for long; the process's own log then has their number. A bus without a log
 * costs one look-up in a map.
 */
export class BusLogs {
  readonly #options: BusLogsOptions;
  readonly #logs = new Map<string, BusLog>();
  readonly #destinations = new Map<string, Destination>();
  readonly #room = new SharedRoom(waitingLengthMax);
  #writing: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(options: BusLogsOptions) {
    this.#options = options;
  }

  /** Reads the settings of all buses. */
  async load(store: Pick<Store, "read">): Promise<void> {
    await store.read(async (reader) => {
      for await (const { account, bus } of walkBuses(reader)) this.#set({ account, name: bus.name }, bus.logConfig);
    });
  }

  /** A bus gets these settings when the transaction commits; undefined: it is deleted. */
  configure(
    transaction: Pick<Transaction, "afterCommit">,
    bus: BusReference,
    logConfig: EventBusRecord["logConfig"],
  ): void {
    transaction.afterCommit(() => this.#set(bus, logConfig));
  }

  #set({ account, name }: BusReference, logConfig: EventBusRecord["logConfig"]): void {
    const { level = "OFF", includeDetail } = logConfig ?? {};
    if (level === "ERROR" || level === "INFO" || level === "TRACE")
      this.#logs.set(`${account}/${name}`, { level, isFull: includeDetail === "FULL" });
    else this.#logs.delete(`${account}/${name}`);
  }

  /** The log of a bus; undefined: it has none. */
  of({ account, name }: BusReference): BusLog | undefined {
    return this.#logs.size === 0 ? undefined : this.#logs.get(`${account}/${name}`);
  }

  /** Writes a record soon, if the bus logs the step. `facts` is called only then. */
  add(bus: BusReference, step: BusLogStep, facts: (isFull: boolean) => BusLogFacts): void {
    const log = this.of(bus);
    if (log === undefined || !writesStep(log.level, step)) return;
    const { clock, arnScope, destinations } = this.#options;
    const atMs = clock.now();
    const line = { atMs, text: busLogRecord(busArn(arnScope, bus), atMs, step, facts(log.isFull)) };
    for (const template of destinations) {
      const arn = template
        .replaceAll("{region}", arnScope.region)
        .replaceAll("{account}", bus.account)
        .replaceAll("{bus}", bus.name);
      const name = `${bus.account} ${arn}`;
      const destination = this.#destinations.get(name) ?? { arn, account: bus.account, waiting: [], left: 0 };
      this.#destinations.set(name, destination);
      if (this.#room.take(bus.account, arn, line.text.length)) destination.waiting.push(line);
      else destination.left += 1;
    }
    this.#cancelTimer ??= clock.schedule(atMs + flushMs, () => void this.flush());
  }

  /** Writes all records that wait. */
  async flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  /** Destinations take turns, so that one which gets records all the time holds up no other. */
  async #writeAll(): Promise<void> {
    const { clock } = this.#options;
    const unreached = new Set<string>();
    for (let isLeft = true; isLeft;) {
      isLeft = false;
      for (const [name, destination] of this.#destinations) {
        if (unreached.has(name)) continue;
        if (!(await this.#writeBatch(destination))) unreached.add(name);
        else if (destination.waiting.length > 0) isLeft = true;
        else this.#destinations.delete(name);
      }
    }
    if (this.#destinations.size > 0)
      this.#cancelTimer ??= clock.schedule(clock.now() + 10 * flushMs, () => void this.flush());
  }

  /** Returns whether the destination was reached. What it never accepts is left out. */
  async #writeBatch(destination: Destination): Promise<boolean> {
    const { log, writer } = this.#options;
    const { arn, account, waiting } = destination;
    if (destination.left > 0)
      log.error({ destination: arn, records: destination.left }, "records of a bus's log were left out");
    destination.left = 0;
    const batch = nextBatch(waiting);
    if (batch.length === 0) return true;
    try {
      if (!(await writer.write(arn, account, batch))) return false;
    } catch (error) {
      log.error({ err: error, destination: arn, records: batch.length }, "records of a bus's log were not written");
    }
    waiting.splice(0, batch.length);
    this.#room.give(account, arn, lengthOf(batch));
    return true;
  }
}

/** The first records that wait, as many as one call writes. */
const nextBatch = (waiting: readonly BusLogLine[]): BusLogLine[] => {
  let count = 0;
  let length = 0;
  for (const { text } of waiting.slice(0, batchRecordsMax)) {
    length += text.length;
    if (count > 0 && length > batchLengthMax) break;
    count += 1;
  }
  return waiting.slice(0, count);
};

const lengthOf = (lines: readonly BusLogLine[]): number => lines.reduce((sum, { text }) => sum + text.length, 0);
