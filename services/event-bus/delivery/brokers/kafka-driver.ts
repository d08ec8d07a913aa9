import { subscribe } from "node:diagnostics_channel";
import type { EventEmitter } from "node:events";
import { isIP } from "node:net";

import type { SASLOptions } from "@platformatic/kafka";
import {
  AuthenticationError,
  NetworkError,
  ProduceAcks,
  Producer,
  stringSerializers,
  TimeoutError,
  UserError,
} from "@platformatic/kafka";

import type { Broker } from "../../domain/broker.ts";
import type { BrokerDriver } from "./broker-driver.ts";
import { credentialsRefused, failed, retry, tlsOf, unanswered } from "./broker-driver.ts";

// A connection whose socket fails while it logs in emits the error, and a second one when it closes. The client listens
// to one of them only, and the other would end the process.
subscribe("plt:kafka:instances", (message) => {
  const { type, instance } = message as { readonly type: string; readonly instance: EventEmitter };
  if (type === "connection") instance.on("error", () => {});
});

/** Kafka: a message is published when all replicas that are in sync have it. Its key decides on its partition. */
export const kafkaDriver: BrokerDriver = {
  async open(broker, limitMs) {
    const tls = tlsOf(broker);
    const sasl = saslOf(broker);
    const producer = new Producer<string, string | Buffer, string, string>({
      clientId: "quartet",
      bootstrapBrokers: [...broker.hosts],
      serializers: { ...stringSerializers, value: bytesOf },
      acks: ProduceAcks.ALL,
      autocreateTopics: false,
      // A leader that moved is found by the next try; all else is retried as the target says.
      retries: 2,
      retryDelay: 100,
      connectTimeout: limitMs,
      requestTimeout: limitMs,
      timeout: limitMs,
      ...(tls && { tls, tlsServerName: broker.servername ?? broker.hosts.every(({ host }) => isIP(host) === 0) }),
      ...(sasl && { sasl }),
    });
    return {
      async publish({ place, id, key, body, contentType, attributes }) {
        const prefixed = Object.fromEntries(attributes.map(([name, value]) => [`ce_${name}`, value]));
        const headers = { "message-id": id, "content-type": contentType, ...prefixed };
        await producer.send({ messages: [{ topic: place.name, key, value: body, headers }] });
      },
      // The producer makes new connections as it needs them.
      ended: new Promise(() => {}),
      close: () => producer.close(),
    };
  },
  refusalOf(error) {
    if (!(error instanceof Error)) return undefined;
    const errors = allErrorsOf(error);
    const isCausedBy = (code: string): boolean => errors.some((each) => each.code === code);
    const hasAnswer = (name: string): boolean => errors.some(({ apiId }) => apiId === name);
    if (isCausedBy(AuthenticationError.code)) return credentialsRefused;
    // Also the case for a moment after a topic was created.
    if (
      hasAnswer("UNKNOWN_TOPIC_OR_PARTITION") ||
      (isCausedBy(UserError.code) && error.message.startsWith("Unknown topic"))
    )
      return retry("NO_RESOURCE", "The topic does not exist.");
    if (hasAnswer("TOPIC_AUTHORIZATION_FAILED"))
      return failed("NO_PERMISSIONS", "The broker does not allow to publish to this topic.");
    if (hasAnswer("MESSAGE_TOO_LARGE") || hasAnswer("RECORD_LIST_TOO_LARGE"))
      return failed("RESOURCE_LIMIT_EXCEEDED", "The message is larger than the topic accepts.");
    if (hasAnswer("INVALID_TOPIC_EXCEPTION")) return failed("INVALID_PARAMETER", "The topic has no valid name.");
    // The client gives them the code of a network error.
    if (errors.some((each) => each instanceof TimeoutError)) return unanswered;
    if (isCausedBy(NetworkError.code)) return undefined;
    const answer = errors.find(({ apiId }) => apiId !== undefined)?.apiId;
    return answer === undefined
      ? undefined
      : retry("ERROR_FROM_TARGET", `The broker refused the message with ${answer}.`);
  },
};

/** An error of the client with what it says of its cause. */
interface ClientError {
  readonly code?: string;
  /** The name of the error that the broker answered. */
  readonly apiId?: string;
}

/** An error, those that it has gathered, and their causes. */
const allErrorsOf = (error: Error): ClientError[] => {
  const inner = [...(error instanceof AggregateError ? (error.errors as unknown[]) : []), error.cause];
  return [error as ClientError, ...inner.flatMap((each) => (each instanceof Error ? allErrorsOf(each) : []))];
};

const bytesOf = (value: string | Buffer | undefined): Buffer | undefined =>
  typeof value === "string" ? Buffer.from(value) : value;

const saslOf = ({ user, password, mechanism = "PLAIN" }: Broker): SASLOptions | undefined =>
  user === undefined ? undefined : { mechanism, username: user, password: password ?? "" };
