import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";

import { describe, expect, onTestFinished, test } from "vitest";

import { BrokerConnections } from "../../../../services/event-bus/delivery/brokers/broker-connections.ts";
import type { BrokerPlace, BrokerSetting } from "../../../../services/event-bus/domain/broker.ts";
import { brokerOf } from "../../../../services/event-bus/domain/broker.ts";
import { eventually } from "../../../support/eventually.ts";
import { silentLogger } from "../../../support/silent-logger.ts";
import { startSilentServer } from "../../../support/silent-server.ts";
import type { BrokerServer } from "./servers.ts";
import { hasPostgresql, hasRabbitMq, hasRedis, startPostgresql, startRabbitMq, startRedis } from "./servers.ts";

/** Returns what publishes a message to a place of a broker, and resolves to the code of its refusal. */
const openPublisher = (setting: BrokerSetting, place: BrokerPlace, limitMs: number) => {
  const connections = new BrokerConnections({ log: silentLogger, limitMs, messagesMax: 10 });
  onTestFinished(() => connections.close());
  const broker = brokerOf("000000000000/main", setting);
  return async (id: string) => {
    const message = { place, id, key: "", body: "1", contentType: "application/json", attributes: [] };
    return (await connections.publish(broker, message, new AbortController().signal))?.code;
  };
};

const postgresqlLogin = { user: "postgres", password: "pg-secret" };
const channel = { sort: "channel", name: "sales" } as const;

/** Passes connections on to a port; when it hangs, it accepts further ones only; its end resets all. */
const startRelay = async (port: number) => {
  const clients = new Set<Socket>();
  let hangs = false;
  const relay = createServer((client) => {
    clients.add(client);
    client.on("error", () => {});
    if (hangs) return;
    const server = connect(port, "127.0.0.1");
    client.pipe(server).pipe(client);
    server.on("error", () => {});
    client.on("close", () => server.destroy());
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");
  return {
    port: (relay.address() as AddressInfo).port,
    clients,
    hang() {
      hangs = true;
      for (const client of clients) client.unpipe();
    },
    end() {
      relay.close();
      for (const client of clients) client.resetAndDestroy();
    },
  };
};

describe.skipIf(!hasPostgresql())("a database with several hosts", () => {
  test("is left for the next host once, however many messages fail together", async () => {
    const server = await startPostgresql();
    onTestFinished(() => server.stop());
    const relay = await startRelay(server.port);
    onTestFinished(() => relay.end());
    const url = `postgresql://127.0.0.1:${relay.port},127.0.0.1:${server.port}/postgres`;
    const publish = openPublisher({ url, ...postgresqlLogin }, channel, 5_000);
    expect(await publish("a")).toBe(undefined);
    relay.hang();
    const failing = Promise.all(["b", "c", "d"].map(publish));
    await eventually(() => relay.clients.size === 3, "each message has a connection");
    relay.end();
    expect(await failing).toEqual(Array(3).fill("CONNECTION_FAILURE"));
    expect(await Promise.all(["b", "c", "d"].map(publish))).toEqual(Array(3).fill(undefined));
  });
});

describe("a host that accepts connections and does not answer is passed for the next one", () => {
  const answers = async (
    kind: string,
    start: () => Promise<BrokerServer>,
    place: BrokerPlace,
    login: object = {},
    path = "",
  ): Promise<string | undefined> => {
    const server = await start();
    onTestFinished(() => server.stop());
    const silent = (await startSilentServer()).replace("http", kind);
    const publish = openPublisher({ url: `${silent},127.0.0.1:${server.port}${path}`, ...login }, place, 500);
    let answer: string | undefined;
    await eventually(async () => {
      answer = await publish("a");
      return !["CONNECTION_FAILURE", "TIMEOUT"].includes(answer ?? "");
    }, "the next host answers");
    return answer;
  };

  test.skipIf(!hasRedis())("of Redis", async () => {
    expect(await answers("redis", startRedis, { sort: "stream", name: "sales" })).toBe(undefined);
  });

  test.skipIf(!hasPostgresql())("of PostgreSQL", async () => {
    expect(await answers("postgresql", startPostgresql, channel, postgresqlLogin, "/postgres")).toBe(undefined);
  });

  test.skipIf(!hasRabbitMq())("of RabbitMQ", async () => {
    // It has the exchange, and no queue is bound to it.
    const place = { sort: "exchange", name: "amq.topic/sales" } as const;
    expect(await answers("amqp", startRabbitMq, place)).toBe("NO_RESOURCE");
  });
});

/** Accepts the login of each connection. It answers queries until it hangs. */
const startDatabaseDouble = async (hangsAtOnce: boolean) => {
  const double = { hangs: hangsAtOnce, queries: 0, port: 0 };
  const clients = new Set<Socket>();
  const loggedIn = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
  const done = Buffer.from([0x43, 0, 0, 0, 13, ...Buffer.from("INSERT 0\0"), 0x5a, 0, 0, 0, 5, 0x49]);
  const server = createServer((client) => {
    clients.add(client);
    client.on("error", () => {});
    client.once("data", () => {
      client.write(loggedIn);
      client.on("data", () => {
        double.queries += 1;
        if (!double.hangs) client.write(done);
      });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const client of clients) client.destroy();
  });
  double.port = (server.address() as AddressInfo).port;
  return double;
};

describe("a database that hangs after it has accepted a connection", () => {
  // whether it hangs before the first message, and how three messages end; it hangs before the second in any case
  test.each([
    [true, [undefined, undefined, undefined]],
    [false, [undefined, "CONNECTION_FAILURE", undefined]],
  ])("is left for the next host (at once: %s)", async (hangsAtOnce, ends) => {
    const [first, next] = [await startDatabaseDouble(hangsAtOnce), await startDatabaseDouble(false)];
    const url = `postgresql://127.0.0.1:${first.port},127.0.0.1:${next.port}/postgres`;
    const publish = openPublisher({ url, ...postgresqlLogin }, channel, 300);
    const ended = [await publish("a")];
    first.hangs = true;
    ended.push(await publish("b"), await publish("c"));
    expect(ended).toEqual(ends);
    expect(next.queries).toBeGreaterThan(0);
  });
});
