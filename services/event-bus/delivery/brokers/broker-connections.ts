import type { Logger } from "../../../kit/log/log.ts";
import type { Broker, BrokerKind } from "../../domain/broker.ts";
import type { BrokerConnection, BrokerDriver, BrokerMessage, BrokerRefusal } from "./broker-driver.ts";
import { certificateRefusal, codesOf, retry, unanswered } from "./broker-driver.ts";
import { ReceivedBytes } from "./received-bytes.ts";

type DrivenKind = Exclude<BrokerKind, "webhook">;

/** The drivers, each loaded with its package when the first message for a broker of its kind is published. */
const drivers: { readonly [Kind in DrivenKind]: () => Promise<BrokerDriver> } = {
  nats: async () => (await import("./nats-driver.ts")).natsDriver,
  amqp: async () => (await import("./amqp-driver.ts")).amqpDriver,
  redis: async () => (await import("./redis-driver.ts")).redisDriver,
  postgresql: async () => (await import("./postgresql-driver.ts")).postgresqlDriver,
  kafka: async () => (await import("./kafka-driver.ts")).kafkaDriver,
};

interface BrokerConnectionsOptions {
  readonly log: Logger;
  /** Milliseconds that a connection, and then a message, may take. */
  readonly limitMs: number;
  /** Messages of one broker that wait for its acknowledgement at the same time; further ones are sent later. */
  readonly messagesMax: number;
}

/** One broker with its connection and the messages that are on their way to it. */
interface BrokerState {
  readonly broker: Broker & { readonly kind: DrivenKind };
  connection: Promise<BrokerConnection> | undefined;
  readonly received: ReceivedBytes;
  running: number;
  /** What lets each message that waits for its turn go on, the first at first. */
  readonly waiting: Set<() => void>;
}

/** One attempt to publish a message. */
interface Attempt {
  isOver: boolean;
  /** Lets it go on; undefined: it does not wait for its turn. */
  goOn: (() => void) | undefined;
}

/**
 * The connections to brokers. One is made with the first message, kept, and made again with the next message after it
 * ended. A broker that cannot be reached is tried again as the circuit of its destination allows.
 */
export class BrokerConnections {
  readonly #options: BrokerConnectionsOptions;
  readonly #states = new Map<Broker, BrokerState>();
  #isClosed = false;

  constructor(options: BrokerConnectionsOptions) {
    this.#options = options;
  }

  /** Publishes one message; returns why it was not stored, undefined if it was. Throws the signal's reason. */
  async publish(broker: Broker, message: BrokerMessage, signal: AbortSignal): Promise<BrokerRefusal | undefined> {
    const state = this.#stateOf(broker);
    const { limitMs } = this.#options;
    const driver = await drivers[state.broker.kind]();
    const attempt: Attempt = { isOver: false, goOn: undefined };
    try {
      // A connection and a message have their time each.
      return await within(2 * limitMs, signal, this.#publish(state, driver, message, attempt));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const refusal = this.#refusalOf(error, driver);
      if (error instanceof LateError || refusal === unanswered) state.received.endUnfinished();
      return refusal;
    } finally {
      attempt.isOver = true;
      // One that still waits is forgotten with its message: a broker may answer nothing for days.
      if (attempt.goOn !== undefined) state.waiting.delete(attempt.goOn);
    }
  }

  #refusalOf(error: unknown, driver: BrokerDriver): BrokerRefusal {
    if (error instanceof LateError)
      return retry("TIMEOUT", `The broker did not accept the message within ${2 * this.#options.limitMs} ms.`);
    const [code = "unknown"] = codesOf(error);
    const unreachable = retry("CONNECTION_FAILURE", `The broker could not be reached: ${code}.`);
    return certificateRefusal(error) ?? driver.refusalOf(error) ?? unreachable;
  }

  /** Ends all connections, within the time of one. Later messages are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const open = this.#states.values().flatMap(({ connection }) => (connection === undefined ? [] : [connection]));
    const { signal } = new AbortController();
    const end = async (connection: Promise<BrokerConnection>): Promise<void> => (await connection).close();
    // A client may wait for the last word of a broker that is gone.
    await Promise.allSettled([...open].map((each) => within(this.#options.limitMs, signal, end(each))));
  }

  #stateOf(broker: Broker): BrokerState {
    const known = this.#states.get(broker);
    if (known !== undefined) return known;
    const { kind } = broker;
    if (kind === "webhook") throw new Error("a webhook has no connection of its own");
    const state: BrokerState = {
      broker: { ...broker, kind },
      connection: undefined,
      received: new ReceivedBytes(),
      running: 0,
      waiting: new Set(),
    };
    this.#states.set(broker, state);
    return state;
  }

  async #publish(
    state: BrokerState,
    driver: BrokerDriver,
    message: BrokerMessage,
    attempt: Attempt,
  ): Promise<undefined> {
    if (state.running < this.#options.messagesMax) state.running += 1;
    else
      await new Promise<void>((resolve) => {
        attempt.goOn = resolve;
        state.waiting.add(resolve);
      });
    try {
      const connection = attempt.isOver ? undefined : await this.#connectionOf(state, driver);
      if (attempt.isOver || connection === undefined) return;
      // Some clients make further connections for messages.
      await state.received.watch(() => connection.publish(message));
      state.received.acknowledge();
    } finally {
      const [next] = state.waiting;
      if (next === undefined) state.running -= 1;
      else {
        state.waiting.delete(next);
        next();
      }
    }
  }

  #connectionOf(state: BrokerState, driver: BrokerDriver): Promise<BrokerConnection> {
    if (this.#isClosed) throw new Error("the connections to brokers are closed");
    if (state.connection !== undefined) return state.connection;
    const { account, name } = state.broker;
    const opening = state.received.watch(() => driver.open(state.broker, this.#options.limitMs));
    const forget = (): void => {
      if (state.connection === opening) state.connection = undefined;
    };
    state.connection = opening;
    opening.then(
      ({ ended }) =>
        ended.then(() => {
          forget();
          if (!this.#isClosed) this.#options.log.info({ broker: name, account }, "the connection to a broker ended");
        }),
      forget,
    );
    return opening;
  }
}

/** Something did not end in time. */
class LateError extends Error {
  override readonly name = "LateError";
}

/** The result of work; throws LateError after so many milliseconds, or the signal's reason. */
const within = async <T>(limitMs: number, signal: AbortSignal, work: Promise<T>): Promise<T> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new LateError("too late")), limitMs);
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
};
