import type { EventRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import { Turn } from "../../kit/clock/turn.ts";
import { parseJson } from "../../kit/json/parse-json.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import type { BusReference } from "../domain/arns.ts";
import type { Shape } from "../domain/schema-inference.ts";
import { isSameShape, merge, observe } from "../domain/schema-inference.ts";
import type { Limits } from "../limits.ts";
import { findBus } from "../store/bus.ts";
import type { EventKind } from "../store/discovered-schema.ts";
import {
  findSchema,
  getSchemaVersion,
  listSchemas,
  putSchema,
  putSchemaVersion,
  shapeOf,
} from "../store/discovered-schema.ts";

/** Milliseconds of events that are written together; a crash loses what was observed since. */
const windowMs = 2_000;
/** What is observed in one window: kinds of events, details of one kind and of all, and characters of all details. */
const kindsMax = 1_000;
const detailsPerKindMax = 5;
const detailsMax = 1_000;
const detailsLengthMax = 2 * 1024 * 1024;
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

/**
 * Discovers the schemas of the events of the buses that want it. Putting an event only counts it and remembers some
 * details; what was remembered in two seconds is merged and written after them, with pauses for all else.
 */
export class SchemaDiscovery {
  readonly #options: DiscoveryOptions;
  #observed = new Map<string, Observed>();
  #count = 0;
  #length = 0;
  #writing: Promise<void> = Promise.resolve();
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
    let observed = this.#observed.get(name);
    if (observed === undefined) {
      if (this.#observed.size === kindsMax) return;
      observed = { kind: { bus, source, detailType }, details: [], firstMs: nowMs, count: 0, lastMs: nowMs };
      this.#observed.set(name, observed);
    }
    observed.count += 1;
    observed.lastMs = nowMs;
    if (observed.details.length < detailsPerKindMax && this.#hasSpace(detail)) {
      observed.details.push(detail);
      this.#count += 1;
      this.#length += detail.length;
    }
    this.#cancelTimer ??= this.#options.clock.schedule(nowMs + windowMs, () => void this.flush());
  }

  #hasSpace(detail: string): boolean {
    return this.#count < detailsMax && this.#length + detail.length <= detailsLengthMax;
  }

  /** Writes what was observed. */
  async flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const observed = [...this.#observed.values()];
    this.#observed = new Map();
    this.#count = 0;
    this.#length = 0;
    this.#writing = this.#writing.then(() => this.#writeAll(observed));
    await this.#writing;
  }

  async #writeAll(observed: readonly Observed[]): Promise<void> {
    const { store, log } = this.#options;
    for (let from = 0; from < observed.length; from += batchKindsMax) {
      const batch = observed.slice(from, from + batchKindsMax);
      try {
        const inferred = await infer(batch);
        await store.transact((transaction) => this.#write(transaction, inferred));
      } catch (error) {
        log.error({ err: error, schemas: batch.length }, "what was observed of some events was not written");
      }
    }
  }

  /** Merges observations into what is known of each kind, unless its bus does not want it any more. */
  async #write(transaction: Transaction, batch: readonly Inferred[]): Promise<void> {
    const room = new Map<string, number>();
    for (const { kind, shape, count, firstMs, lastMs } of batch) {
      const bus = await findBus(transaction, kind.bus);
      if (bus?.discoversSchemas !== true) continue;
      const present = await findSchema(transaction, kind);
      if (present === undefined && (shape === undefined || !(await this.#hasRoom(transaction, kind.bus, room))))
        continue;
      const known = present && shapeOf((await getSchemaVersion(transaction, kind, present.version)).detail);
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
  async #hasRoom(transaction: Transaction, bus: BusReference, room: Map<string, number>): Promise<boolean> {
    const limit = this.#options.limits.schemasPerBusMax;
    const name = `${bus.account}/${bus.name}`;
    const left = room.get(name) ?? limit - (await listSchemas(transaction, bus, { limit })).length;
    room.set(name, left - 1);
    return left > 0;
  }
}

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
