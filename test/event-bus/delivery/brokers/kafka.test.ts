import { Admin, Consumer, stringDeserializers } from "@platformatic/kafka";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { openBrokerShop } from "./broker-shop.ts";
import type { BrokerServer } from "./servers.ts";
import { hasKafka, startKafka } from "./servers.ts";

let server: BrokerServer;
let url: string;

const createTopic = async (topic: string, partitions: number): Promise<void> => {
  const admin = new Admin({ clientId: "test", bootstrapBrokers: [{ host: "127.0.0.1", port: server.port }] });
  try {
    await admin.createTopics({ topics: [topic], partitions, replicas: 1 });
  } finally {
    await admin.close();
  }
};

/** The first messages of a topic: key, value, headers and partition. */
const read = async (topic: string, count: number): Promise<unknown[]> => {
  const consumer = new Consumer({
    clientId: "test",
    groupId: `test-${topic}`,
    bootstrapBrokers: [{ host: "127.0.0.1", port: server.port }],
    deserializers: stringDeserializers,
  });
  onTestFinished(() => consumer.close(true));
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
  const messages: unknown[] = [];
  for await (const { key, value, headers, partition } of stream) {
    messages.push({ key, value, headers: Object.fromEntries(headers), partition });
    if (messages.length === count) break;
  }
  return messages;
};

beforeAll(async () => {
  server = await startKafka();
  url = `kafka://127.0.0.1:${server.port}`;
  await createTopic("sales", 4);
});
afterAll(() => server.stop());

describe.skipIf(!hasKafka())("a delivery to Kafka", () => {
  test("is a message with the key that the target names, and the delivery's id", async () => {
    const { sell, putTarget, deadLetters } = await openBrokerShop({ url });
    await putTarget("topic/sales", { streamParameters: { partitionKeyPath: "$.detail.key" } });
    await sell();
    await putTarget("topic/sales");
    const eventId = await sell();
    expect(await deadLetters()).toEqual([]);
    const headers = { "message-id": expect.stringMatching(/^[0-9a-f-]{36}$/), "content-type": "application/json" };
    const partition = expect.any(Number);
    const messages = await read("sales", 2);
    expect(messages).toContainEqual({ key: "k-7", value: '{"n":1}', headers, partition });
    expect(messages).toContainEqual({ key: eventId, value: '{"n":1}', headers, partition });
  });

  test("has the attributes of a CloudEvent in its headers", async () => {
    await createTopic("binary", 1);
    const { outcomeAt } = await openBrokerShop({ url });
    const binary = { cloudEventParameters: { contentMode: "BINARY" } };
    expect(await outcomeAt("topic/binary", binary)).toBe("delivered");
    expect(await read("binary", 1)).toMatchObject([{ headers: { ce_specversion: "1.0", ce_type: "Sale" } }]);
  });

  test("waits for a topic that does not exist yet", async () => {
    const { sell, putTarget, clock, app, deadLetters } = await openBrokerShop({ url });
    await putTarget("topic/later");
    await sell();
    expect(app.jobs.stats().retried).toBe(1);
    await createTopic("later", 1);
    clock.advance(60_000);
    await app.jobs.idle();
    expect(await deadLetters()).toEqual([]);
    expect(await read("later", 1)).toMatchObject([{ value: '{"n":1}' }]);
  });

  // place, length of the event's text, outcome without a further retry
  test.each([
    ["topic/nowhere", 1, "retry NO_RESOURCE: The topic does not exist."],
    ["topic/sales", 110_000, "failed RESOURCE_LIMIT_EXCEEDED: The message is larger than the topic accepts."],
  ])("to %s of %s characters ends as %s", async (place, length, outcome) => {
    const { outcomeAt } = await openBrokerShop({ url });
    const whole = { input: undefined, inputPath: "$.detail" };
    expect(await outcomeAt(place, whole, JSON.stringify({ text: "x".repeat(length) }))).toBe(outcome);
  });

  test("waits for a broker that ends, and is made when it is back", async () => {
    await createTopic("restarted", 1);
    const { sellAcrossRestart } = await openBrokerShop({ url });
    await sellAcrossRestart("topic/restarted", server);
    expect(await read("restarted", 2)).toHaveLength(2);
  });
});
