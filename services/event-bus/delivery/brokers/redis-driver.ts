import { createClient, ErrorReply } from "@redis/client";

import type { Broker, BrokerHost } from "../../domain/broker.ts";
import type { BrokerDriver } from "./broker-driver.ts";
import { credentialsRefused, failed, firstOf, rawSocket, retry, tlsOf } from "./broker-driver.ts";
import type { RedisNode } from "./redis-nodes.ts";
import { RedisNodes } from "./redis-nodes.ts";

/** Milliseconds between two questions whether the server still answers. */
const pingMs = 10_000;

/** Redis and Valkey, also clusters of them: a message is an entry of a stream, with the fields `id` and `event`. */
export const redisDriver: BrokerDriver = {
  async open(broker, limitMs) {
    const tls = tlsOf(broker);
    const connect = (host: BrokerHost) => connectTo(broker, host, tls, limitMs);
    const nodes = new RedisNodes(await firstOf(broker, limitMs, connect), connect);
    const { streamEntriesMax } = broker;
    const bound = streamEntriesMax === undefined ? [] : ["MAXLEN", "~", String(streamEntriesMax)];
    return {
      publish: ({ place, id, body }) =>
        nodes.send(place.name, ["XADD", place.name, ...bound, "*", "id", id, "event", body]),
      ended: nodes.ended,
      close: () => Promise.resolve(nodes.close()),
    };
  },
  refusalOf(error) {
    if (!(error instanceof ErrorReply)) return undefined;
    const [name = ""] = error.message.split(" ");
    if (["WRONGPASS", "NOAUTH"].includes(name) || error.message.startsWith("ERR AUTH")) return credentialsRefused;
    const message = `The server refused the entry with ${name}.`;
    if (name === "WRONGTYPE") return failed("NO_RESOURCE", "The key is not that of a stream.");
    if (name === "NOPERM") return failed("NO_PERMISSIONS", "The user may not add to this stream.");
    if (name === "OOM") return retry("RESOURCE_LIMIT_EXCEEDED", "The server has no memory left.");
    if (name === "ERR") return failed("ERROR_FROM_TARGET", message);
    // LOADING, BUSY, READONLY, MASTERDOWN, CLUSTERDOWN, TRYAGAIN and the like pass by.
    return retry("ERROR_FROM_TARGET", message);
  },
};

/** Connects to one server. */
const connectTo = async (
  { user, password, path }: Broker,
  { host, port }: BrokerHost,
  tls: ReturnType<typeof tlsOf>,
  limitMs: number,
): Promise<RedisNode> => {
  const client = createClient({
    socket: {
      host,
      port,
      connectTimeout: limitMs,
      reconnectStrategy: false,
      ...(tls && { ...tls, ...rawSocket(tls, { host, port }), tls: true }),
    },
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
    ...(path !== "" && { database: Number(path) }),
    name: "quartet",
    disableOfflineQueue: true,
    pingInterval: pingMs,
    RESP: 2,
  });
  // Ends with an event of its own; without a listener it would end the process.
  client.on("error", () => {});
  const ended = new Promise((resolve) => {
    client.once("end", resolve);
    client.once("terminated", () => {
      client.destroy();
      resolve(undefined);
    });
  });
  // The client bounds the time of the connection alone, not that of what is said first on it.
  const limit = setTimeout(() => client.destroy(), limitMs);
  try {
    await client.connect();
  } catch (error) {
    client.destroy();
    throw error;
  } finally {
    clearTimeout(limit);
  }
  return {
    address: { host, port },
    send: (command) => client.sendCommand(command),
    ended,
    close: () => client.destroy(),
  };
};
