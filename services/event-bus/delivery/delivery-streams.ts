import { parseArn } from "../../kit/arn/arn.ts";
import type { Clock } from "../../kit/clock/clock.ts";
import { isStillAhead } from "../../kit/clock/clock.ts";
import type { Ids } from "../../kit/ids/ids.ts";
import type { Logger } from "../../kit/log/log.ts";
import type { Store, Transaction } from "../../kit/store/store.ts";
import type { DeliveryStream } from "../domain/delivery-stream.ts";
import { streamName, streamObjectKey } from "../domain/delivery-stream.ts";
import type { WaitingRecord } from "../store/stream-record.ts";
import {
  countStreamBytes,
  deleteStreamRecords,
  listStreamRecords,
  oldestStreamRecordMs,
  putStreamRecord,
  reclaimStreamRecords,
} from "../store/stream-record.ts";
import { attemptText } from "./attempt-content.ts";
import type { Connector } from "./connector.ts";
import type { ObjectWriter } from "./object-writer.ts";
import { oneLine } from "./one-line.ts";
import { nameIn } from "./service-request.ts";

/** Records that one transaction removes. */
const deletedMax = 1_000;
/** A stream accepts no more while it waits with so many objects. */
const objectsWaitingMax = 64;
/** An accepted delivery that is not stored after this time keeps no room any more. */
const acceptedMsMax = 60_000;
/** How long a stream rests after a write that failed. */
const troubleMs = 10_000;

interface DeliveryStreamsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Pick<Ids, "uuid">;
  readonly log: Logger;
  readonly streams: readonly DeliveryStream[];
  readonly put: ObjectWriter;
}

/** The room that a delivery keeps in a stream until it is stored. */
interface AcceptedDelivery {
  readonly bytes: number;
  readonly atMs: number;
}

/** What is known of one stream. */
interface StreamState {
  readonly stream: DeliveryStream;
  /** About the bytes that wait. */
  bytes: number;
  /** Deliveries that were accepted and are not stored yet, by id, the oldest first. */
  readonly accepted: Map<string, AcceptedDelivery>;
  /** Not written before this instant, after a failure. */
  restUntilMs: number;
}

/**
 * The delivery streams that the installation declares. A record is stored in the transaction that ends its delivery;
 * records are written as objects, one line each, when they have so many bytes or the oldest has its age, and removed
 * once object storage has answered. A crash in between writes the same object again, with the records that arrived
 * since; one while records are removed repeats the rest in a further object. Damaged records are left out, and logged.
 */
export class DeliveryStreams {
  readonly #options: DeliveryStreamsOptions;
  readonly #states: ReadonlyMap<string, StreamState>;

  constructor(options: DeliveryStreamsOptions) {
    this.#options = options;
    this.#states = new Map(
      options.streams.map((stream) => [
        streamName(stream.account, stream.name),
        { stream, bytes: 0, accepted: new Map(), restUntilMs: Number.NEGATIVE_INFINITY },
      ]),
    );
  }

  get isEmpty(): boolean {
    return this.#states.size === 0;
  }

  /** Counts what waits since before the start. */
  async load(): Promise<void> {
    for (const state of this.#states.values())
      state.bytes += await this.#options.store.read((reader) => countStreamBytes(reader, state.stream));
  }

  /** Whether an ARN names one of these streams. */
  has(targetArn: string): boolean {
    return this.#find(targetArn) !== undefined;
  }

  /** Whether a stream has room for more records. */
  hasRoom(targetArn: string): boolean {
    const state = this.#find(targetArn);
    return state !== undefined && this.#hasRoom(state);
  }

  /**
   * Keeps room for a delivery until `append` has stored it, so that deliveries which run at the same time are not all
   * accepted for the last room of a stream. Accepting the same one again is safe. False: the stream has no room.
   */
  accept(targetArn: string, deliveryId: string, text: string): boolean {
    const state = this.#find(targetArn);
    if (state === undefined) return false;
    state.accepted.delete(deliveryId);
    if (!this.#hasRoom(state)) return false;
    state.accepted.set(deliveryId, { bytes: lineOf(text).byteLength, atMs: this.#options.clock.now() });
    return true;
  }

  /** Adds texts to a stream, each as one line; those of a delivery that was accepted use the room that it keeps. */
  append(transaction: Transaction, targetArn: string, texts: readonly string[], deliveryId?: string): void {
    const state = this.#find(targetArn);
    if (state === undefined) throw new Error(`${targetArn} is not a declared delivery stream`);
    const { clock, ids } = this.#options;
    const atMs = clock.now();
    let bytes = 0;
    for (const text of texts) {
      const data = lineOf(text);
      bytes += data.byteLength;
      putStreamRecord(transaction, state.stream, atMs, ids.uuid(), data);
    }
    transaction.afterCommit(() => {
      state.bytes += bytes;
      if (deliveryId !== undefined) state.accepted.delete(deliveryId);
    });
  }

  /**
   * Writes an object of each stream that has enough records or an old one, until none has. Streams take turns, so that
   * one which gets records all the time holds up no other.
   */
  async writeDue(signal: AbortSignal): Promise<void> {
    for (let hasWritten = true; hasWritten;) {
      hasWritten = false;
      for (const state of this.#states.values()) {
        if (signal.aborted) return;
        if (await this.#writeOne(state, signal)) hasWritten = true;
      }
    }
  }

  /** Returns whether an object was written. A stream rests after a write that failed. */
  async #writeOne(state: StreamState, signal: AbortSignal): Promise<boolean> {
    const { clock, log } = this.#options;
    if (isStillAhead(state.restUntilMs, troubleMs, clock.now())) return false;
    try {
      return await this.#writeIfDue(state, signal);
    } catch (error) {
      if (signal.aborted) return false;
      state.restUntilMs = clock.now() + troubleMs;
      log.error({ err: error, stream: state.stream.name }, "an object of a delivery stream was not written");
      return false;
    }
  }

  async #writeIfDue(state: StreamState, signal: AbortSignal): Promise<boolean> {
    const { stream } = state;
    const { store, clock, log } = this.#options;
    if (state.bytes === 0) return false;
    if (state.bytes < stream.bytesMax) {
      // The others are read only when they are written.
      const oldestMs = await store.read((reader) => oldestStreamRecordMs(reader, stream));
      const isYoung = oldestMs !== undefined && isStillAhead(oldestMs + stream.ageMsMax, stream.ageMsMax, clock.now());
      if (isYoung) return false;
    }
    const records = await store.read((reader) => listStreamRecords(reader, stream, stream.bytesMax));
    const [first] = records;
    if (first === undefined) {
      state.bytes = 0;
      return false;
    }
    await this.#put(stream, first, records, signal);
    const damagedCount = records.filter(({ data }) => data === undefined).length;
    if (damagedCount > 0) log.error({ stream: stream.name, damagedCount }, "damaged records of a stream were left out");
    for (let at = 0; at < records.length; at += deletedMax) {
      const written = records.slice(at, at + deletedMax);
      await store.transact((transaction) =>
        deleteStreamRecords(
          transaction,
          written.map(({ key }) => key),
        ),
      );
      state.bytes -= written.reduce((sum, { data }) => sum + (data?.byteLength ?? 0), 0);
    }
    await reclaimStreamRecords(store, stream);
    return true;
  }

  async #put(
    stream: DeliveryStream,
    first: WaitingRecord,
    records: readonly WaitingRecord[],
    signal: AbortSignal,
  ): Promise<void> {
    const whole = records.flatMap(({ data }) => data ?? []);
    if (whole.length === 0) return;
    const [, , atMs, id] = first.key;
    const object = {
      bucket: stream.bucket,
      key: streamObjectKey(stream, atMs, id),
      contentType: "application/x-ndjson",
      body: Buffer.concat(whole),
    };
    await this.#options.put(stream.account, object, signal);
  }

  #hasRoom({ stream, bytes, accepted }: StreamState): boolean {
    const nowMs = this.#options.clock.now();
    let expected = bytes;
    for (const [id, delivery] of accepted) {
      if (isStillAhead(delivery.atMs + acceptedMsMax, acceptedMsMax, nowMs)) expected += delivery.bytes;
      else accepted.delete(id);
    }
    return expected < objectsWaitingMax * stream.bytesMax;
  }

  #find(targetArn: string): StreamState | undefined {
    const arn = parseArn(targetArn);
    if (arn?.service !== "firehose") return undefined;
    return this.#states.get(streamName(arn.account, nameIn(arn)));
  }
}

/** A text as one line. */
const lineOf = (text: string): Buffer => Buffer.from(`${oneLine(text)}\n`);

/** Delivers to declared delivery streams, and to all others by another connector. */
export const deliveryStreamConnector =
  (streams: DeliveryStreams, otherwise: Connector): Connector =>
  async (attempt) => {
    const { arn } = attempt.target;
    if (!streams.has(arn)) return otherwise(attempt);
    const input = attemptText(attempt);
    if (typeof input !== "string") return input;
    if (!streams.accept(arn, attempt.deliveryId, input))
      return { kind: "retry", code: "THROTTLING", message: "The delivery stream waits for object storage." };
    return {
      kind: "delivered",
      apply: (transaction) => {
        streams.append(transaction, arn, [input], attempt.deliveryId);
        return Promise.resolve(undefined);
      },
    };
  };
