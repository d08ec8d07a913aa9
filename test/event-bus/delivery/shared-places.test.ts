import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { ApiDestinationHttpMethod } from "../../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import { eventually } from "../../support/eventually.ts";
import { startHarness } from "../harness.ts";
import { openShop } from "./shop.ts";

/** Receives requests and answers none. */
const startBog = async () => {
  const bog = { url: "", requests: 0 };
  const server = createServer(() => {
    bog.requests += 1;
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  bog.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return bog;
};

test("destinations of an account that hang, however many, leave places for those of others", async () => {
  // Twelve places for destinations that have not answered yet.
  const { clientOf } = await startHarness({ limits: { runningDeliveriesMax: 24 } });
  const bog = await startBog();
  const loud = clientOf("111111111111");
  const shop = await openShop(loud, { destination: { invocationEndpoint: `${bog.url}/shop` } });
  const { connectionArn } = await loud.describeConnection({ name: "shop" });
  for (let n = 0; n < 20; n += 1) {
    const { apiDestinationArn } = await loud.createApiDestination({
      name: `bog-${n}`,
      connectionArn,
      invocationEndpoint: `${bog.url}/${n}`,
      httpMethod: ApiDestinationHttpMethod.POST,
    });
    await loud.putRule({ name: `bog-${n}`, eventPattern: '{"source":["shop"]}' });
    await loud.putTargets({ rule: `bog-${n}`, targets: [{ id: "bog", arn: apiDestinationArn }] });
  }
  const quiet = await openShop(clientOf("222222222222"));
  await shop.sell({ n: 1 });
  await eventually(() => bog.requests === 8, "two thirds of the places are taken");
  await quiet.sell({ n: 2 });
  await eventually(() => quiet.till.received.length === 1, "the other account's event arrives");
  expect(bog.requests).toBe(8);
});
