import type { RedisClientType } from "@redis/client";
import { createClient } from "@redis/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { eventually } from "../../../support/eventually.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";
import { startProcess } from "../../harness.ts";
import { openBrokerShop, placeArn } from "./broker-shop.ts";
import type { BrokerServer } from "./servers.ts";
import { hasRedis, startRedis } from "./servers.ts";

const login = { password: "redis-secret" };
let server: BrokerServer;
let url: string;

const openClient = async () => {
  const client = createClient({ socket: { host: "127.0.0.1", port: server.port }, ...login, RESP: 2 });
  await client.connect();
  return client as unknown as RedisClientType;
};

beforeAll(async () => {
  server = await startRedis("--requirepass", login.password, "--appendonly", "yes", "--appendfsync", "always");
  url = `redis://127.0.0.1:${server.port}/0`;
  const client = await openClient();
  await client.set("text", "1");
  await client.sendCommand(["ACL", "SETUSER", "bob", "on", ">bob-secret", "+@all", "-xadd", "~*"]);
  await client.close();
});
afterAll(() => server.stop());

describe.skipIf(!hasRedis())("a delivery to Redis", () => {
  test("is an entry of the stream with the delivery's id and the input", async () => {
    const client = await openClient();
    onTestFinished(() => client.destroy());
    const { sell, putTarget, deadLetters } = await openBrokerShop({ url, ...login });
    await putTarget("stream/shop:sales");
    await sell();
    expect(await deadLetters()).toEqual([]);
    expect(await client.xRange("shop:sales", "-", "+")).toEqual([
      { id: expect.any(String), message: { id: expect.stringMatching(/^[0-9a-f-]{36}$/), event: '{"n":1}' } },
    ]);
  });

  test("is made by a process of its own whose setting declares the server", async () => {
    const client = await openClient();
    onTestFinished(() => client.destroy());
    const { client: bus } = await startProcess(await temporaryDirectory(), {
      QUARTET_EVENT_BUS_BROKERS: JSON.stringify({ "000000000000/main": { url, ...login } }),
    });
    await bus.putRule({ name: "sales", eventPattern: '{"source":["shop"]}' });
    await bus.putTargets({ rule: "sales", targets: [{ id: "t", arn: placeArn("stream/process"), input: "1" }] });
    await bus.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: "{}" }] });
    await eventually(async () => (await client.xLen("process")) > 0, "the entry is in the stream");
    expect(await client.xRange("process", "-", "+")).toMatchObject([{ message: { event: "1" } }]);
  });

  test("has a whole CloudEvent as its event", async () => {
    const client = await openClient();
    onTestFinished(() => client.destroy());
    const { outcomeAt } = await openBrokerShop({ url, ...login });
    const structured = { cloudEventParameters: { contentMode: "STRUCTURED" } };
    expect(await outcomeAt("stream/structured", structured)).toBe("delivered");
    const entries = await client.xRange("structured", "-", "+");
    expect(JSON.parse(entries?.[0]?.message["event"] ?? "")).toMatchObject({
      specversion: "1.0",
      type: "Sale",
      data: { n: 1 },
    });
  });

  test("removes the oldest entries beyond the setting's number", async () => {
    const client = await openClient();
    onTestFinished(() => client.destroy());
    const { client: bus, putTarget, app } = await openBrokerShop({ url, ...login, streamEntriesMax: 100 });
    await putTarget("stream/short");
    const entries = Array.from({ length: 10 }, () => ({ source: "shop", detailType: "Sale", detail: "{}" }));
    for (let call = 0; call < 40; call += 1) await bus.putEvents({ entries });
    await app.jobs.idle();
    const kept = await client.xLen("short");
    expect(kept).toBeGreaterThanOrEqual(100);
    expect(kept).toBeLessThan(300);
  });

  // setting, place, outcome without a further retry
  test.each<[object, string, string]>([
    [login, "stream/text", "failed NO_RESOURCE: The key is not that of a stream."],
    [{ password: "wrong" }, "stream/sales", "retry NO_PERMISSIONS: The broker refuses the installation's credentials."],
    [{}, "stream/sales", "retry NO_PERMISSIONS: The broker refuses the installation's credentials."],
    [
      { user: "bob", password: "bob-secret" },
      "stream/sales",
      "failed NO_PERMISSIONS: The user may not add to this stream.",
    ],
  ])("as %j to %s ends as %s", async (setting, place, outcome) => {
    const { outcomeAt } = await openBrokerShop({ url, ...setting });
    expect(await outcomeAt(place)).toBe(outcome);
  });

  test("waits for a broker that ends, and is made on a new connection", async () => {
    const { sellAcrossRestart } = await openBrokerShop({ url, ...login });
    await sellAcrossRestart("stream/later", server);
    const client = await openClient();
    onTestFinished(() => client.destroy());
    expect(await client.xLen("later")).toBe(2);
  });
});
