import { expect, test } from "vitest";

import { ApiDestinationHttpMethod } from "../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import { ConnectionAuthorizationType } from "../../gen/quartet/eventbus/v1/connection_pb.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { openShop } from "./delivery/shop.ts";
import { refusalOf, startProcess } from "./harness.ts";

test("a service that is started by itself sends nothing to private addresses or by plain http", async () => {
  const { client } = await startProcess(await temporaryDirectory());
  const shop = await openShop(client);
  await shop.sell({ n: 1 });
  const [letter] = await eventually(async () => {
    const { deadLetters } = await client.listDeadLetters({});
    return deadLetters.length > 0 && deadLetters;
  }, "the delivery is a dead letter");
  expect(letter?.errorMessage).toBe("The endpoint may not be reached: only https may be requested.");
  expect(shop.till.received).toEqual([]);
});

test("an installation sets how much there may be of each thing", async () => {
  const { client } = await startProcess(await temporaryDirectory(), {
    QUARTET_EVENT_BUS_BUSES_MAX: "2",
    QUARTET_EVENT_BUS_RULES_PER_BUS_MAX: "1",
    QUARTET_EVENT_BUS_TARGETS_PER_RULE_MAX: "6",
    QUARTET_EVENT_BUS_CONNECTIONS_MAX: "1",
    QUARTET_EVENT_BUS_API_DESTINATIONS_MAX: "1",
  });
  const connection = {
    authorizationType: ConnectionAuthorizationType.API_KEY,
    authParameters: { apiKeyAuthParameters: { apiKeyName: "x-key", apiKeyValue: "k-1" } },
  };
  const eventPattern = '{"source":["shop"]}';
  const { connectionArn } = await client.createConnection({ ...connection, name: "a" });
  const destination = {
    connectionArn,
    invocationEndpoint: "https://shop.example/",
    httpMethod: ApiDestinationHttpMethod.POST,
  };
  const targets = (count: number) =>
    Array.from({ length: count }, (_, id) => ({ id: `${id}`, arn: "arn:aws:sqs:us-east-1:000000000000:q" }));
  await client.createEventBus({ name: "a" });
  await client.putRule({ name: "a", eventPattern });
  await client.putTargets({ rule: "a", targets: targets(6) });
  await client.createApiDestination({ ...destination, name: "a" });
  expect(
    await Promise.all(
      [
        client.createEventBus({ name: "b" }),
        client.putRule({ name: "b", eventPattern }),
        client.putTargets({ rule: "a", targets: targets(7) }),
        client.createConnection({ ...connection, name: "b" }),
        client.createApiDestination({ ...destination, name: "b" }),
      ].map(refusalOf),
    ),
  ).toEqual(Array(5).fill("LIMIT_EXCEEDED"));
});
