import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";

import { describe, expect, onTestFinished, test } from "vitest";

import { BrokerConnections } from "../../../../services/event-bus/delivery/brokers/broker-connections.ts";
import { brokerOf } from "../../../../services/event-bus/domain/broker.ts";
import { eventually } from "../../../support/eventually.ts";
import { silentLogger } from "../../../support/silent-logger.ts";
import { hasPostgresql, startPostgresql } from "./servers.ts";

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
    const connections = new BrokerConnections({ log: silentLogger, limitMs: 5_000, messagesMax: 10 });
    onTestFinished(() => connections.close());
    const url = `postgresql://127.0.0.1:${relay.port},127.0.0.1:${server.port}/postgres`;
    const broker = brokerOf("000000000000/main", { url, user: "postgres", password: "pg-secret" });
    const publish = async (id: string) => {
      const place = { sort: "channel", name: "sales" } as const;
      const message = { place, id, key: "", body: "1", contentType: "application/json", attributes: [] };
      return (await connections.publish(broker, message, new AbortController().signal))?.code;
    };
    expect(await publish("a")).toBe(undefined);
    relay.hang();
    const failing = Promise.all(["b", "c", "d"].map(publish));
    await eventually(() => relay.clients.size === 3, "each message has a connection");
    relay.end();
    expect(await failing).toEqual(Array(3).fill("CONNECTION_FAILURE"));
    expect(await Promise.all(["b", "c", "d"].map(publish))).toEqual(Array(3).fill(undefined));
  });
});
