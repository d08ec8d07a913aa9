import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { BrokerConnections } from "../../../../services/event-bus/delivery/brokers/broker-connections.ts";
import { brokerOf } from "../../../../services/event-bus/domain/broker.ts";
import { silentLogger } from "../../../support/silent-logger.ts";
import { openBrokerShop } from "./broker-shop.ts";
import type { BrokerServer } from "./servers.ts";
import { hasNats, startNats } from "./servers.ts";

const users = `authorization { users: [
  { user: ada, password: nats-secret }
  { user: bob, password: bob-secret, permissions: { publish: { deny: "shop.>" } } }
] }`;
const ada = { user: "ada", password: "nats-secret" };
let server: BrokerServer;
let url: string;

const manage = async () => {
  const connection = await connect({ servers: `127.0.0.1:${server.port}`, user: ada.user, pass: ada.password });
  onTestFinished(() => connection.close());
  return jetstreamManager(connection);
};

/** The messages of the stream `shop`: subject, id, content type and body. */
const stored = async (): Promise<string[][]> => {
  const manager = await manage();
  const { state } = await manager.streams.info("shop");
  const messages = await Promise.all(
    Array.from({ length: state.messages }, (_, at) =>
      manager.streams.getMessage("shop", { seq: state.first_seq + at }),
    ),
  );
  return messages.map((message) => [
    message?.subject ?? "",
    message?.header.get("Nats-Msg-Id") ?? "",
    message?.header.get("Content-Type") ?? "",
    message?.string() ?? "",
  ]);
};

beforeAll(async () => {
  server = await startNats(users);
  url = `nats://127.0.0.1:${server.port}`;
  const connection = await connect({ servers: `127.0.0.1:${server.port}`, user: ada.user, pass: ada.password });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: "shop", subjects: ["shop.>"], max_msg_size: 800 });
  await connection.close();
});
afterAll(() => server.stop());

describe.skipIf(!hasNats())("a delivery to NATS", () => {
  test("is stored by the stream of its subject, with the delivery's id", async () => {
    const { sell, putTarget, deadLetters } = await openBrokerShop({ url, ...ada });
    await putTarget("subject/shop.sales");
    await sell();
    expect(await deadLetters()).toEqual([]);
    const messages = await stored();
    expect(messages.at(-1)).toEqual([
      "shop.sales",
      expect.stringMatching(/^[0-9a-f-]{36}$/),
      "application/json",
      '{"n":1}',
    ]);
  });

  test("has the attributes of a CloudEvent in its headers", async () => {
    const { outcomeAt } = await openBrokerShop({ url, ...ada });
    const binary = { cloudEventParameters: { contentMode: "BINARY" } };
    expect(await outcomeAt("subject/shop.binary", binary)).toBe("delivered");
    const message = await (await manage()).streams.getMessage("shop", { last_by_subj: "shop.binary" });
    const attributes = ["ce-specversion", "ce-type", "ce-source"].map((name) => message?.header.get(name));
    expect([...attributes, message?.string()]).toEqual(["1.0", "Sale", "shop", '{"n":1}']);
  });

  test("that is repeated is dropped by the stream", async () => {
    const before = (await stored()).length;
    const connections = new BrokerConnections({ log: silentLogger, limitMs: 5_000, messagesMax: 4 });
    onTestFinished(() => connections.close());
    const broker = brokerOf("000000000000/main", { url, ...ada });
    const message = {
      place: { sort: "subject", name: "shop.repeated" },
      id: "delivery-1",
      key: "",
      body: "1",
      contentType: "application/json",
      attributes: [],
    } as const;
    const { signal } = new AbortController();
    expect(await connections.publish(broker, message, signal)).toBe(undefined);
    expect(await connections.publish(broker, message, signal)).toBe(undefined);
    expect((await stored()).length).toBe(before + 1);
  });

  test("waits for a broker that cannot be reached, and is made on a new connection", async () => {
    const { sell, putTarget, clock, app, deadLetters } = await openBrokerShop({ url, ...ada });
    await putTarget("subject/shop.later");
    await sell();
    const before = (await stored()).length;
    await server.kill();
    await sell();
    expect(app.jobs.stats().retried).toBe(1);
    await server.start();
    clock.advance(60_000);
    await app.jobs.idle();
    expect((await stored()).length).toBe(before + 1);
    expect(await deadLetters()).toEqual([]);
  });

  // setting, place, input, outcome without a further retry
  test.each<[object, string, string, string]>([
    [ada, "subject/nobody.listens", "1", "retry NO_RESOURCE: No stream has this subject."],
    [
      ada,
      "subject/shop.sales",
      `"${"x".repeat(800)}"`,
      "failed RESOURCE_LIMIT_EXCEEDED: The message is larger than the stream accepts.",
    ],
    [
      { user: "ada", password: "wrong" },
      "subject/shop.sales",
      "1",
      "retry NO_PERMISSIONS: The broker refuses the installation's credentials.",
    ],
    [
      { user: "bob", password: "bob-secret" },
      "subject/shop.sales",
      "1",
      "failed NO_PERMISSIONS: The broker does not allow to publish to this subject.",
    ],
    [
      ada,
      "queue/sales",
      "1",
      "failed INVALID_PARAMETER: The broker main has nothing of the kind that arn:aws:events:us-east-1:000000000000:broker/main/queue/sales names.",
    ],
  ])("as %j to %s with the input %s ends as %s", async (login, place, input, outcome) => {
    const { outcomeAt } = await openBrokerShop({ url, ...login });
    expect(await outcomeAt(place, { input })).toBe(outcome);
  });

  test("to a port where nothing listens cannot be made", async () => {
    const { outcomeAt } = await openBrokerShop({ url: "nats://127.0.0.1:1", ...ada });
    expect(await outcomeAt("subject/shop.sales")).toMatch(
      /^retry CONNECTION_FAILURE: The broker could not be reached: /,
    );
  });
});
