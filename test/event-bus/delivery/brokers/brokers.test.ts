import { describe, expect, onTestFinished, test } from "vitest";

import { brokerOf, parseBrokerTarget } from "../../../../services/event-bus/domain/broker.ts";
import { ConfigError, loadConfig, printConfig } from "../../../../services/kit/config/config.ts";
import { eventBusSettings, installation } from "../../../../services/launcher/settings.ts";
import { startHttpReceiver } from "../../../support/http-receiver.ts";
import { openBrokerShop, placeArn } from "./broker-shop.ts";

const receive = async () => {
  const receiver = await startHttpReceiver();
  onTestFinished(() => receiver.close());
  return receiver;
};

test("a broker belongs to the account for which it is declared", async () => {
  const receiver = await receive();
  const { clientOf, app } = await openBrokerShop({ url: receiver.url });
  const stranger = clientOf("111111111111");
  await stranger.putRule({ name: "sales", eventPattern: '{"source":["shop"]}' });
  const arns = [placeArn(""), placeArn("").replace("000000000000", "111111111111")];
  const roleArn = "arn:aws:iam::111111111111:role/publisher";
  await stranger.putTargets({ rule: "sales", targets: arns.map((arn, id) => ({ arn, id: `${id}`, roleArn })) });
  await stranger.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: "{}" }] });
  await app.jobs.idle();
  const { deadLetters } = await stranger.listDeadLetters({});
  expect(deadLetters.map(({ errorCode }) => errorCode)).toEqual(["NO_RESOURCE", "NO_RESOURCE"]);
  expect(receiver.received).toEqual([]);
});

const setting = { url: "amqp://a.example,[::1]:1/shop%2Fsales", user: "ada", password: "secret" };

test("a broker has the hosts, ports and path of its URL", () => {
  expect(brokerOf("000000000000/orders", setting)).toMatchObject({
    account: "000000000000",
    name: "orders",
    kind: "amqp",
    hosts: [
      { host: "a.example", port: 5672 },
      { host: "::1", port: 1 },
    ],
    path: "shop/sales",
    isEncrypted: false,
  });
  expect(brokerOf("000000000000/a", { url: "nats://a", tls: "on" })).toMatchObject({ kind: "nats", isEncrypted: true });
  expect(brokerOf("000000000000/a", { url: "https://a.example/b?c" })).toMatchObject({ kind: "webhook", hosts: [] });
});

describe("the setting of brokers", () => {
  const read = (value: object) => {
    const env = { QUARTET_EVENT_BUS_BROKERS: JSON.stringify(value) };
    return loadConfig(installation, "event-bus", eventBusSettings, { argv: [], env, directory: "/nowhere" });
  };

  test("is read as JSON and never shown", () => {
    const values = read({ "000000000000/orders": setting });
    expect(values.brokers).toEqual({ "000000000000/orders": setting });
    expect(printConfig([eventBusSettings], values)).toContain("brokers = [hidden]");
  });

  // name, members
  test.each<[string, object]>([
    ["orders", setting],
    ["000000000000/a b", setting],
    ["000000000000/a", { url: "ftp://a" }],
    ["000000000000/a", { url: "amqp://ada:secret@a" }],
    ["000000000000/a", { url: "https://ada:secret@a" }],
    ["000000000000/a", { url: "kafka://a:99999" }],
    ["000000000000/a", { url: "nats://" }],
    ["000000000000/a", { url: "https://a", secret: "whsec_short" }],
    ["000000000000/a", { url: "redis://a", streamEntriesMax: 0 }],
    ["000000000000/a", { url: "redis://a", token: "x" }],
  ])("is refused with %s and %j, without its secrets", (name, members) => {
    expect(() => read({ [name]: members })).toThrow(ConfigError);
    expect(() => read({ [name]: members })).not.toThrow("ada:secret");
  });
});

// place, whether a target may name it: AMQP counts bytes
test.each([
  [`queue/${"q".repeat(255)}`, true],
  [`queue/${"q".repeat(256)}`, false],
  [`queue/${"ü".repeat(127)}q`, true],
  [`queue/${"ü".repeat(128)}`, false],
  [`exchange/shop/${"ü".repeat(127)}q`, true],
  [`exchange/shop/${"ü".repeat(128)}`, false],
  [`exchange/shop/a/${"ü".repeat(127)}`, false],
  [`exchange/${"ü".repeat(128)}/sales`, false],
  ["exchange/shop/", true],
])("a target names the place %s: %s", (place, isNamed) => {
  expect(parseBrokerTarget(placeArn(place)) !== undefined).toBe(isNamed);
});
