import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { createClient } from "@redis/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { BrokerConnections } from "../../../../services/event-bus/delivery/brokers/broker-connections.ts";
import { brokerOf } from "../../../../services/event-bus/domain/broker.ts";
import { createAuthority } from "../../../support/certificates.ts";
import { eventually } from "../../../support/eventually.ts";
import { silentLogger } from "../../../support/silent-logger.ts";
import { startSilentServer } from "../../../support/silent-server.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";
import { openBrokerShop } from "./broker-shop.ts";
import type { BrokerServer } from "./servers.ts";
import { hasNats, hasRedis, startNats, startRedis } from "./servers.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

describe("a broker that accepts connections and does not answer", () => {
  // kind, place
  test.each([
    ["nats", "subject/a"],
    ["amqp", "queue/a"],
    ["redis", "stream/a"],
    ["postgresql", "table/a"],
    ["kafka", "topic/a"],
  ])("of the kind %s lets deliveries be retried after the time limit", async (kind, place) => {
    const address = (await startSilentServer()).replace("http", kind);
    const { outcomeAt } = await openBrokerShop({ url: address }, { limits: { requestMsMax: 100 } });
    expect(await outcomeAt(place)).toMatch(/^retry (?:TIMEOUT|CONNECTION_FAILURE): The broker /);
  });
});

describe.skipIf(!hasRedis())("the connection to a broker", () => {
  let server: BrokerServer;
  let url: string;
  beforeAll(async () => {
    server = await startRedis();
    url = `redis://127.0.0.1:${server.port}`;
  });
  afterAll(() => server.stop());

  const openClient = async () => {
    const client = createClient({ socket: { host: "127.0.0.1", port: server.port }, RESP: 2 });
    await client.connect();
    onTestFinished(() => client.destroy());
    return client;
  };

  test("has a bound of messages on their way; one that waited too long is not sent any more", async () => {
    const client = await openClient();
    const connections = new BrokerConnections({ log: silentLogger, limitMs: 1_000, messagesMax: 1 });
    onTestFinished(() => connections.close());
    const broker = brokerOf("000000000000/main", { url });
    const publish = (id: string) => {
      const place = { sort: "stream", name: "bounded" } as const;
      const message = { place, id, key: "", body: "1", contentType: "application/json", attributes: [] };
      return connections.publish(broker, message, new AbortController().signal);
    };
    expect(await publish("a")).toBe(undefined);
    await client.sendCommand(["CLIENT", "PAUSE", "60000", "WRITE"]);
    const outcomes = await Promise.all([publish("b"), publish("c"), publish("d")]);
    expect(outcomes.map((outcome) => outcome?.code)).toEqual(["TIMEOUT", "TIMEOUT", "TIMEOUT"]);
    await client.sendCommand(["CLIENT", "UNPAUSE"]);
    await eventually(async () => (await publish("e")) === undefined, "the broker accepts messages again");
    const entries = (await client.xRange("bounded", "-", "+")) ?? [];
    expect(new Set(entries.map(({ message }) => message["id"]))).toEqual(new Set(["a", "b", "e"]));
  });

  test("keeps no message whose time is over, however long the broker is silent", async () => {
    const client = await openClient();
    const connections = new BrokerConnections({ log: silentLogger, limitMs: 25, messagesMax: 1 });
    onTestFinished(() => connections.close());
    const broker = brokerOf("000000000000/main", { url });
    const publish = (body: Buffer) => {
      const place = { sort: "stream", name: "silent" } as const;
      const message = { place, id: "", key: "", body, contentType: "text/plain", attributes: [] };
      return connections.publish(broker, message, new AbortController().signal);
    };
    await eventually(async () => (await publish(Buffer.from("1"))) === undefined, "the connection is made");
    await client.sendCommand(["CLIENT", "PAUSE", "60000", "WRITE"]);
    onTestFinished(async () => void (await client.sendCommand(["CLIENT", "UNPAUSE"])));
    let kept = 0;
    const registry = new FinalizationRegistry(() => (kept -= 1));
    const publishAnother = async () => {
      const body = Buffer.alloc(1_000);
      registry.register(body, undefined);
      kept += 1;
      return (await publish(body))?.code;
    };
    const outcomes = await Promise.all(Array.from({ length: 20 }, publishAnother));
    expect(new Set(outcomes)).toEqual(new Set(["TIMEOUT"]));
    // The first has been sent, and the broker may still answer it.
    await eventually(() => {
      collect();
      return kept <= 1;
    }, "the others are forgotten");
  });

  test("is one for all messages, and ends when the service stops", async () => {
    const client = await openClient();
    const count = async () => (await client.clientList()).filter(({ name }) => name === "quartet").length;
    const { sell, putTarget, stop } = await openBrokerShop({ url });
    const before = await count();
    await putTarget("stream/one");
    await Promise.all([sell(), sell(), sell()]);
    expect((await count()) - before).toBe(1);
    await stop();
    await eventually(async () => (await count()) === before, "the connection has ended");
    expect(await client.xLen("one")).toBe(3);
  });
});

describe("an encrypted connection", () => {
  const certify = async () => {
    const directory = await temporaryDirectory();
    const [authority, other] = [await createAuthority(directory), await createAuthority(directory, "other")];
    return { ...(await authority.certify("broker")), authority: authority.file, other: other.file };
  };
  /** The codes of deliveries by the right authority, by another, and without encryption. */
  const outcomesAt = async (url: string, place: string, authorities: readonly [string, string]) => {
    const settings = [...authorities.map((authority) => ({ url, authority })), { url }];
    const outcomes: string[] = [];
    for (const setting of settings) {
      const { outcomeAt } = await openBrokerShop(setting, { limits: { requestMsMax: 1_000 } });
      outcomes.push((await outcomeAt(place)).split(":", 1)[0] ?? "");
    }
    return outcomes;
  };

  test.skipIf(!hasRedis())("to Redis is made only with a server that the authority certifies", async () => {
    const { certificate, key, authority, other } = await certify();
    const files = ["--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", authority];
    const server = await startRedis("--tls-auth-clients", "no", ...files, "--tls-port", "PORT", "--port", "0");
    onTestFinished(() => server.stop());
    const outcomes = await outcomesAt(`redis://localhost:${server.port}`, "stream/a", [authority, other]);
    expect(outcomes).toEqual(["delivered", "retry CONNECTION_FAILURE", "retry CONNECTION_FAILURE"]);
  });

  test.skipIf(!hasNats())("to NATS is made only with a server that the authority certifies", async () => {
    const { certificate, key, authority, other } = await certify();
    const server = await startNats(`tls { cert_file: "${certificate}", key_file: "${key}" }`);
    onTestFinished(() => server.stop());
    // No stream has the subject, which only a server that was reached answers.
    const outcomes = await outcomesAt(`nats://localhost:${server.port}`, "subject/a", [authority, other]);
    expect(outcomes.slice(0, 2)).toEqual(["retry NO_RESOURCE", "retry CONNECTION_FAILURE"]);
  });
});
