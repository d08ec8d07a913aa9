import { describe, expect, test } from "vitest";

import { ApiDestinationHttpMethod, ApiDestinationState } from "../../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import { ConnectionAuthorizationType } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import { refusalOf, startHarness } from "../harness.ts";

const connection = {
  name: "shop",
  authorizationType: ConnectionAuthorizationType.BASIC,
  authParameters: { basicAuthParameters: { username: "alice", password: "open-sesame" } },
};

describe("createApiDestination, describeApiDestination, listApiDestinations, updateApiDestination and deleteApiDestination", () => {
  const destination = {
    name: "till",
    invocationEndpoint: "https://shop.example/till",
    httpMethod: ApiDestinationHttpMethod.POST,
  };

  test("create, describe, list, change and delete one", async () => {
    const { client } = await startHarness();
    const { connectionArn } = await client.createConnection(connection);
    const made = await client.createApiDestination({ ...destination, connectionArn });
    expect(made.apiDestinationArn).toMatch(
      /^arn:aws:events:us-east-1:000000000000:api-destination\/till\/[0-9a-f-]{36}$/,
    );
    expect(made.apiDestinationState).toBe(ApiDestinationState.ACTIVE);
    await client.updateApiDestination({ name: "till", invocationRateLimitPerSecond: 5, description: "the till" });
    expect(await client.describeApiDestination({ name: "till" })).toMatchObject({
      apiDestinationArn: made.apiDestinationArn,
      connectionArn,
      invocationEndpoint: "https://shop.example/till",
      httpMethod: ApiDestinationHttpMethod.POST,
      invocationRateLimitPerSecond: 5,
      description: "the till",
    });
    expect((await client.listApiDestinations({ connectionArn })).apiDestinations.map(({ name }) => name)).toEqual([
      "till",
    ]);
    await client.deleteApiDestination({ name: "till" });
    expect((await client.listApiDestinations({ connectionArn })).apiDestinations).toEqual([]);
  });

  test("allow 300 requests a second by default, and show one inactive without its connection", async () => {
    const { client } = await startHarness();
    const { connectionArn } = await client.createConnection(connection);
    await client.createApiDestination({ ...destination, connectionArn });
    await client.deleteConnection({ name: "shop" });
    const [listed] = (await client.listApiDestinations({})).apiDestinations;
    expect([listed?.invocationRateLimitPerSecond, listed?.apiDestinationState]).toEqual([
      300,
      ApiDestinationState.INACTIVE,
    ]);
  });

  test("refuse, in this order", async () => {
    const { client } = await startHarness();
    const { connectionArn } = await client.createConnection(connection);
    await client.createApiDestination({ ...destination, connectionArn });
    const gone = "arn:aws:events:us-east-1:000000000000:connection/gone/1";
    const create = (change: object) =>
      refusalOf(client.createApiDestination({ ...destination, connectionArn, ...change }));
    expect(await create({ invocationEndpoint: "shop.example", connectionArn: gone })).toBe(
      "PARAMETER_REFUSED: Parameter InvocationEndpoint is not valid. Reason: InvocationEndpoint is not an HTTP URL.",
    );
    expect(await create({ connectionArn: gone })).toBe("CONNECTION_NOT_FOUND: Connection 'gone' does not exist.");
    expect(await create({})).toBe("API_DESTINATION_ALREADY_EXISTS: An api-destination 'till' already exists.");
    expect(await refusalOf(client.describeApiDestination({ name: "gone" }))).toBe(
      "API_DESTINATION_NOT_FOUND: Failed to describe the api-destination(s). An api-destination 'gone' does not exist.",
    );
    const missing = "API_DESTINATION_NOT_FOUND: An api-destination 'gone' does not exist.";
    expect(await refusalOf(client.updateApiDestination({ name: "gone", connectionArn: gone }))).toBe(missing);
    expect(await refusalOf(client.deleteApiDestination({ name: "gone" }))).toBe(missing);
  });
});
