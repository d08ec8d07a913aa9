import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../../../support/eventually.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";
import { startProcess } from "../../harness.ts";
import { placeArn } from "./broker-shop.ts";

test("a Kafka broker that resets connections on which its client logs in leaves a dead letter, and the service running", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.resetAndDestroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `kafka://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { client, hasEnded } = await startProcess(await temporaryDirectory(), {
    QUARTET_EVENT_BUS_BROKERS: JSON.stringify({ "000000000000/main": { url, user: "ada", password: "secret" } }),
  });
  await client.putRule({ name: "sales", eventPattern: '{"source":["shop"]}' });
  const retryPolicy = { maximumRetryAttempts: 0 };
  await client.putTargets({ rule: "sales", targets: [{ id: "t", arn: placeArn("topic/sales"), retryPolicy }] });
  await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: "{}" }] });
  const letter = await eventually(async () => {
    if (hasEnded()) return { errorCode: "the service has ended" };
    return (await client.listDeadLetters({})).deadLetters[0];
  }, "the delivery is a dead letter");
  expect(letter).toMatchObject({ errorCode: "CONNECTION_FAILURE" });
});
