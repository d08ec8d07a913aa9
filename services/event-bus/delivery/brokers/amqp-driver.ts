import type { ChannelModel, ConfirmChannel } from "amqplib";
import { connect } from "amqplib";

import type { BrokerConnection, BrokerDriver, BrokerMessage } from "./broker-driver.ts";
import { credentialsRefused, failed, firstOf, rawSocket, retry, tlsOf } from "./broker-driver.ts";

/** Seconds after which a silent connection is ended. */
const heartbeatSeconds = 10;

/** The broker returned a message because no queue is bound for it. */
class UnroutableError extends Error {
  override readonly name = "UnroutableError";
}
/** The broker refused to keep a message. */
class RefusedError extends Error {
  override readonly name = "RefusedError";
}

/**
 * RabbitMQ and other brokers of AMQP 0-9-1: a message is published when the broker has confirmed it, which for a
 * durable queue is after it is on disk. Messages are mandatory, so one for which no queue is bound fails.
 */
export const amqpDriver: BrokerDriver = {
  async open(broker, limitMs) {
    const tls = tlsOf(broker);
    const model = await firstOf(broker, limitMs, ({ host, port }) =>
      connect(
        {
          protocol: tls === undefined ? "amqp" : "amqps",
          hostname: host,
          port,
          username: broker.user ?? "guest",
          password: broker.password ?? "guest",
          vhost: broker.path === "" ? "/" : broker.path,
          heartbeat: heartbeatSeconds,
        },
        {
          ...tls,
          ...rawSocket(tls, { host, port }),
          timeout: limitMs,
          clientProperties: { connection_name: "quartet" },
        },
      ),
    );
    // Ends with an event of its own; without a listener it would end the process.
    model.on("error", () => {});
    return new AmqpConnection(model);
  },
  refusalOf(error) {
    if (error instanceof UnroutableError) return failed("NO_RESOURCE", error.message);
    if (error instanceof RefusedError) return retry("THROTTLING", error.message);
    const { code, message } = error as { readonly code?: unknown; readonly message?: string };
    if (code === 404) return failed("NO_RESOURCE", "The exchange does not exist.");
    // The same number refuses a login, and a write to an exchange.
    if (code === 403 || /ACCESS[-_]REFUSED/.test(message ?? ""))
      return /login|handshake|authentication/i.test(message ?? "")
        ? credentialsRefused
        : failed("NO_PERMISSIONS", "The broker does not allow to publish to this exchange.");
    if (code === 406) return failed("INVALID_PARAMETER", "The broker refuses messages of this form.");
    if (code === 311) return failed("RESOURCE_LIMIT_EXCEEDED", "The message is larger than the broker accepts.");
    return undefined;
  },
};

/**
 * One connection with a channel for each exchange: an error of the broker, such as an exchange that does not exist,
 * ends the channel and fails all that is being published on it.
 */
class AmqpConnection implements BrokerConnection {
  readonly ended: Promise<unknown>;
  readonly #model: ChannelModel;
  readonly #channels = new Map<string, Promise<ExchangeChannel>>();

  constructor(model: ChannelModel) {
    this.#model = model;
    this.ended = new Promise((resolve) => model.once("close", resolve));
  }

  async publish(message: BrokerMessage): Promise<void> {
    const [exchange, routingKey] = addressOf(message);
    const channel = await this.#channelOf(exchange);
    await channel.publish(routingKey, message);
  }

  close(): Promise<void> {
    return this.#model.close();
  }

  #channelOf(exchange: string): Promise<ExchangeChannel> {
    const open = this.#channels.get(exchange);
    if (open !== undefined) return open;
    const forget = (): void => {
      if (this.#channels.get(exchange) === opening) this.#channels.delete(exchange);
    };
    const opening = this.#model.createConfirmChannel().then((channel) => {
      channel.once("close", forget);
      return new ExchangeChannel(channel, exchange);
    });
    opening.catch(forget);
    this.#channels.set(exchange, opening);
    return opening;
  }
}

/** The exchange and routing key of a message; the exchange without a name leads to the queue of the key's name. */
const addressOf = ({ place }: BrokerMessage): readonly [exchange: string, routingKey: string] => {
  if (place.sort === "queue") return ["", place.name];
  const slash = place.name.indexOf("/");
  return [place.name.slice(0, slash), place.name.slice(slash + 1)];
};

/** Publishes to one exchange. */
class ExchangeChannel {
  readonly #channel: ConfirmChannel;
  readonly #exchange: string;
  /** The ids of messages that were returned, until their confirmation arrives right after. */
  readonly #returned = new Set<string>();
  readonly #waiting = new Set<(error: Error) => void>();
  #error: Error | undefined;

  constructor(channel: ConfirmChannel, exchange: string) {
    this.#channel = channel;
    this.#exchange = exchange;
    channel.on("return", ({ properties }) => this.#returned.add(String(properties.messageId)));
    channel.on("error", (error) => (this.#error = error));
    channel.once("close", () => {
      for (const fail of this.#waiting) fail(this.#error ?? new Error("the channel is closed"));
    });
  }

  publish(routingKey: string, { id, body, contentType, attributes }: BrokerMessage): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.add(reject);
    const headers = Object.fromEntries(attributes.map(([name, value]) => [`cloudEvents:${name}`, value]));
    const options = { mandatory: true, persistent: true, messageId: id, contentType, headers };
    this.#channel.publish(this.#exchange, routingKey, Buffer.from(body), options, (error: unknown) => {
      this.#waiting.delete(reject);
      if (this.#returned.delete(id)) reject(new UnroutableError("No queue receives the messages of this target."));
      else if (error === null) resolve();
      // Unconfirmed messages of a channel that ends fail with the reason of its end.
      else queueMicrotask(() => reject(this.#error ?? new RefusedError("The broker did not keep the message.")));
    });
    return promise;
  }
}
