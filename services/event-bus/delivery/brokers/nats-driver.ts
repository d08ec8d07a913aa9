import { JetStreamApiError, JetStreamError, jetstream } from "@nats-io/jetstream";
import {
  AuthorizationError,
  connect,
  headers,
  InvalidArgumentError,
  PermissionViolationError,
  TimeoutError,
} from "@nats-io/transport-node";

import { attributeHeaderValue } from "../../domain/cloud-event.ts";
import type { BrokerDriver, BrokerRefusal } from "./broker-driver.ts";
import { credentialsRefused, failed, retry, tlsOf } from "./broker-driver.ts";

/** Milliseconds between two questions whether the server still answers. */
const pingMs = 10_000;

/**
 * NATS JetStream: a message is published when a stream has acknowledged it. Its id is the `Nats-Msg-Id`, so a stream
 * drops repetitions within its duplicate window.
 */
export const natsDriver: BrokerDriver = {
  async open(broker, limitMs) {
    const { user, password, hosts } = broker;
    const tls = tlsOf(broker);
    const connection = await connect({
      name: "quartet",
      servers: hosts.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`),
      ...(user === undefined ? password !== undefined && { token: password } : { user, pass: password ?? "" }),
      ...(tls && { tls }),
      timeout: limitMs,
      noRandomize: true,
      reconnect: false,
      pingInterval: pingMs,
      maxPingOut: 2,
    });
    const streams = jetstream(connection, { timeout: limitMs });
    return {
      async publish({ place, id, body, contentType, attributes }) {
        const described = headers();
        described.set("Content-Type", contentType);
        for (const [name, value] of attributes) described.set(`ce-${name}`, attributeHeaderValue(value));
        await streams.publish(place.name, body, { msgID: id, headers: described, timeout: limitMs });
      },
      ended: connection.closed(),
      close: () => connection.close(),
    };
  },
  refusalOf(error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    if (error instanceof AuthorizationError) return credentialsRefused;
    if (cause instanceof PermissionViolationError)
      return failed("NO_PERMISSIONS", "The broker does not allow to publish to this subject.");
    if (cause instanceof TimeoutError || error instanceof TimeoutError)
      return retry("TIMEOUT", "The broker did not acknowledge the message in time.");
    // Also the case for a moment while a stream has no leader.
    if (error instanceof Error && error.name === "JetStreamNotEnabled")
      return retry("NO_RESOURCE", "No stream has this subject.");
    if (error instanceof InvalidArgumentError)
      return failed("RESOURCE_LIMIT_EXCEEDED", "The message is larger than the broker accepts.");
    if (error instanceof JetStreamApiError) return streamRefusal(error);
    if (error instanceof JetStreamError) return retry("ERROR_FROM_TARGET", "The stream's answer cannot be read.");
    return undefined;
  },
};

/** The number of the error of a message that is larger than its stream accepts. */
const messageTooLarge = 10_054;

const streamRefusal = ({ code, status }: JetStreamApiError): BrokerRefusal => {
  if (code === messageTooLarge)
    return failed("RESOURCE_LIMIT_EXCEEDED", "The message is larger than the stream accepts.");
  const message = `The stream refused the message with error ${code}.`;
  return status >= 500 || status === 429 ? retry("ERROR_FROM_TARGET", message) : failed("ERROR_FROM_TARGET", message);
};
