import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import { Turn } from "../../kit/clock/turn.ts";
import { SharedRoom } from "../../kit/collections/shared-room.ts";
import { parseJson } from "../../kit/json/parse-json.ts";
import type { Logger } from "../../kit/log/log.ts";
import { StoreCorruptionError } from "../../kit/store/errors.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import type { BusReference } from "../domain/arns.ts";
import type { Shape } from "../domain/schema-inference.ts";
import { isSameShape, merge, observe } from "../domain/schema-inference.ts";
import type { Limits } from "../limits.ts";
import { findBus } from "../store/bus.ts";
import type { EventKind } from "../store/discovered-schema.ts";
import { countSchemas, findKnown, putSchema, putSchemaVersion } from "../store/discovered-schema.ts";

/** Milliseconds of events that are written together; a crash loses what was observed since. */
const windowMs = 2_000;
/**
 * What is observed in one window: kinds of events, details of one kind and of all, and characters of all details.
 * Accounts and their buses share them; one bus alone has half of them.
 */
const kindsMax = 2_000;
const detailsPerKindMax = 5;
const detailsMax = 2_000;
const detailsLengthMax = 4 * 1024 * 1024;
/** Kinds of events that one transaction writes. */
const batchKindsMax = 10;
/** Versions of a schema that are kept. */
const versionsMax = 10;
/** Characters of a source whose events are observed; a detail type has at most 128. */
const sourceLengthMax = 256;

interface DiscoveryOptions {
  readonly store: Pick<Store, "transact">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: Pick<Limits, "schemasPerBusMax">;
}

type ObservedEvent = Pick<EventRecord, "source" | "detailType" | "detail">;

/** What was observed of one kind of events in a window. */
interface Observed {
  readonly kind: EventKind;
  readonly details: string[];
  readonly firstMs: number;
  count: number;
  lastMs: number;
}

/** With the shape of the details; undefined: there was no room for any. */
type Inferred = Observed & { readonly shape: Shape | undefined };

/** What is observed until it is written. */
class Window {
  readonly observed = new Map<string, Observed>();
  readonly kinds = new SharedRoom(kindsMax);
  readonly details = new SharedRoom(detailsMax);
  readonly lengths = new SharedRoom(detailsLengthMax);
}

/**
 * Discovers the schemas of the events of the buses that want it. Putting an event only counts it and remembers some
 * details; what was remembered in two seconds is merged and written after them, with pauses for all else. While it is
 * written one further window is open, however long that takes.
 */
export class SchemaDiscovery {
  readonly #options: DiscoveryOptions;
  #window = new Window();
  #writing: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  /** Observes an event of a bus that wants it, if the transaction commits. */
  observe(transaction: Pick<Transaction, "afterCommit">, bus: BusReference, event: ObservedEvent): void {
    if (event.source.length <= sourceLengthMax) transaction.afterCommit(() => this.#remember(bus, event));
  }

  #remember(bus: BusReference, { source, detailType, detail }: ObservedEvent): void {
    const nowMs = this.#options.clock.now();
    const name = `${bus.account} ${bus.name} ${source.length} ${source}${detailType}`;
    const { observed: all, kinds, details, lengths } = this.#window;
    let observed = all.get(name);
    if (observed === undefined) {
      if (!kinds.take(bus.account, bus.name, 1)) return;
      observed = { kind: { bus, source, detailType }, details: [], firstMs: nowMs, count: 0, lastMs: nowMs };
      all.set(name, observed);
    }
    observed.count += 1;
    observed.lastMs = nowMs;
    const hasRoom = observed.details.length < detailsPerKindMax && details.fits(bus.account, bus.name, 1);
    if (hasRoom && lengths.take(bus.account, bus.name, detail.length)) {
      details.add(bus.account, bus.name, 1);
      observed.details.push(detail);
    }
    this.#expectEnd();
  }

  /** Has the window written in two seconds, or so long after the one before was written. */
  #expectEnd(): void {
    if (this.#writing !== undefined || this.#window.observed.size === 0) return;
    const { clock } = this.#options;
    this.#cancelTimer ??= clock.schedule(clock.now() + windowMs, () => void this.flush());
  }

  /** Writes what was observed. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const observed = [...this.#window.observed.values()];
    if (observed.length === 0) return;
    this.#window = new Window();
    this.#writing = this.#writeAll(observed).finally(() => {
      this.#writing = undefined;
      this.#expectEnd();
    });
    await this.#writing;
  }

  /** Damage of one kind's records, or of its bus, keeps no other from being written. */
  async #writeAll(observed: readonly Observed[]): Promise<void> {
    const failed: unknown[] = [];
    const fullBuses = new Set<string>();
    const write = async (batch: readonly Observed[]): Promise<void> => {
      try {
        const inferred = await infer(batch);
        await this.#options.store.transact((transaction) => this.#write(transaction, inferred, fullBuses));
      } catch (error) {
        if (batch.length > 1 && error instanceof StoreCorruptionError) for (const each of batch) await write([each]);
        else failed.push(...batch.map(() => error));
      }
    };
    for (let from = 0; from < observed.length; from += batchKindsMax)
      await write(observed.slice(from, from + batchKindsMax));
    if (failed.length === 0) return;
    const { log } = this.#options;
    log.error({ err: failed[0], schemas: failed.length }, "what was observed of some events was not written");
  }

  /**
   * Merges observations into what is known of each kind, unless its bus does not want it any more. `fullBuses` are
   * those that were found to have no room for another one, and are not looked through again for each kind.
   */
  async #write(transaction: Transaction, batch: readonly Inferred[], fullBuses: Set<string>): Promise<void> {
    const room = new Map<string, number>();
    for (const { kind, shape, count, firstMs, lastMs } of batch) {
      const bus = await findBus(transaction, kind.bus);
      if (bus?.discoversSchemas !== true) continue;
      const present = await findKnown(transaction, kind);
      if (present === undefined) {
        if (shape === undefined || fullBuses.has(nameOf(kind.bus))) continue;
        if (!(await this.#hasRoom(transaction, kind.bus, room, fullBuses))) continue;
      }
      const known = present?.detail;
      const merged = known && shape ? merge(known, shape) : shape;
      const changed = merged === undefined || (known && isSameShape(known, merged)) ? undefined : merged;
      const version = (present?.version ?? 0) + (changed === undefined ? 0 : 1);
      if (changed !== undefined)
        putSchemaVersion(transaction, kind, { version, detail: changed, createdMs: BigInt(lastMs), kept: versionsMax });
      putSchema(transaction, kind, {
        version,
        eventCount: (present?.eventCount ?? 0n) + BigInt(count),
        firstSeenMs: present?.firstSeenMs ?? BigInt(firstMs),
        lastSeenMs: BigInt(lastMs),
      });
    }
  }

  /** Whether a bus may have one more schema; `room` has the numbers that were found in this transaction. */
  async #hasRoom(
    transaction: Transaction,
    bus: BusReference,
    room: Map<string, number>,
    fullBuses: Set<string>,
  ): Promise<boolean> {
    const limit = this.#options.limits.schemasPerBusMax;
    const name = nameOf(bus);
    const left = room.get(name) ?? limit - (await countSchemas(transaction, bus, limit));
    room.set(name, left - 1);
    if (left <= 0) fullBuses.add(name);
    return left > 0;
  }
}

const nameOf = ({ account, name }: BusReference): string => `${account}/${name}`;

/** The shapes of what was observed, with pauses for all else. */
const infer = async (batch: readonly Observed[]): Promise<Inferred[]> => {
  const turn = new Turn();
  const inferred = [];
  for (const observed of batch) {
    let shape: Shape | undefined;
    for (const detail of observed.details) {
      const next = observe(parseJson(detail));
      shape = shape === undefined ? next : merge(shape, next);
      if (turn.isOver) await turn.next();
    }
    inferred.push({ ...observed, shape });
  }
  return inferred;
};
