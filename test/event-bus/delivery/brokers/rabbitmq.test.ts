import { connect } from "amqplib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { openBrokerShop } from "./broker-shop.ts";
import type { BrokerServer } from "./servers.ts";
import { hasRabbitMq, startRabbitMq } from "./servers.ts";

let server: BrokerServer;
let url: string;

const openChannel = async () => {
  const model = await connect(`amqp://127.0.0.1:${server.port}`);
  onTestFinished(() => model.close());
  return model.createChannel();
};

beforeAll(async () => {
  server = await startRabbitMq();
  url = `amqp://127.0.0.1:${server.port}`;
  const model = await connect(url);
  const channel = await model.createChannel();
  await channel.assertExchange("shop", "topic", { durable: true });
  await channel.assertQueue("sales", { durable: true });
  await channel.bindQueue("sales", "shop", "sales.#");
  await channel.assertQueue("full", { arguments: { "x-max-length": 0, "x-overflow": "reject-publish" } });
  await model.close();
});
afterAll(() => server.stop());

describe.skipIf(!hasRabbitMq())("a delivery to RabbitMQ", () => {
  // place, exchange and routing key of the message
  test.each([
    ["queue/sales", "", "sales"],
    ["exchange/shop/sales.eu", "shop", "sales.eu"],
  ])("to %s arrives in the queue, durably and with the delivery's id", async (place, exchange, routingKey) => {
    const channel = await openChannel();
    const { sell, putTarget, deadLetters } = await openBrokerShop({ url });
    await putTarget(place);
    await sell();
    expect(await deadLetters()).toEqual([]);
    const message = await channel.get("sales", { noAck: true });
    expect(message).toMatchObject({
      fields: { exchange, routingKey },
      properties: {
        deliveryMode: 2,
        contentType: "application/json",
        messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    });
    expect(message && message.content.toString()).toBe('{"n":1}');
    expect(await channel.get("sales")).toBe(false);
  });

  test("has the attributes of a CloudEvent in its headers", async () => {
    const channel = await openChannel();
    const { outcomeAt } = await openBrokerShop({ url });
    const binary = { cloudEventParameters: { contentMode: "BINARY" } };
    expect(await outcomeAt("queue/sales", binary)).toBe("delivered");
    const message = await channel.get("sales", { noAck: true });
    expect(message && message.properties.headers).toMatchObject({
      "cloudEvents:specversion": "1.0",
      "cloudEvents:type": "Sale",
    });
  });

  // setting, place, outcome without a further retry
  test.each<[object, string, string]>([
    [{}, "queue/nowhere", "failed NO_RESOURCE: No queue receives the messages of this target."],
    [{}, "exchange/shop/other", "failed NO_RESOURCE: No queue receives the messages of this target."],
    [{}, "exchange/nowhere/sales", "failed NO_RESOURCE: The exchange does not exist."],
    [
      {},
      "exchange/amq.rabbitmq.trace/a",
      "failed NO_PERMISSIONS: The broker does not allow to publish to this exchange.",
    ],
    [{}, "queue/full", "retry THROTTLING: The broker did not keep the message."],
    [
      { user: "guest", password: "wrong" },
      "queue/sales",
      "retry NO_PERMISSIONS: The broker refuses the installation's credentials.",
    ],
  ])("as %j to %s ends as %s", async (login, place, outcome) => {
    const { outcomeAt } = await openBrokerShop({ url, ...login });
    expect(await outcomeAt(place)).toBe(outcome);
  });

  test("is not disturbed by one to an exchange that does not exist", async () => {
    const channel = await openChannel();
    const { client, app, deadLetters } = await openBrokerShop({ url });
    const arn = "arn:aws:events:us-east-1:000000000000:broker/main";
    await client.putTargets({
      rule: "sales",
      targets: [
        { id: "a", arn: `${arn}/exchange/nowhere/a`, input: "1" },
        { id: "b", arn: `${arn}/exchange/shop/sales`, input: "2" },
      ],
    });
    const entries = Array.from({ length: 10 }, () => ({ source: "shop", detailType: "Sale", detail: "{}" }));
    await client.putEvents({ entries });
    await app.jobs.idle();
    expect((await deadLetters()).map(({ letter }) => letter.errorCode)).toEqual(Array(10).fill("NO_RESOURCE"));
    expect((await channel.purgeQueue("sales")).messageCount).toBe(10);
  });

  test("waits for a broker that ends, and is made on a new connection", async () => {
    const { sellAcrossRestart } = await openBrokerShop({ url });
    await sellAcrossRestart("queue/sales", server);
    const channel = await openChannel();
    expect((await channel.purgeQueue("sales")).messageCount).toBe(2);
  });
});
