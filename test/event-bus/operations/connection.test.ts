import type { MessageInitShape } from "@bufbuild/protobuf";
import { readFile } from "node:fs/promises";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";

import { ApiDestinationHttpMethod, ApiDestinationState } from "../../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import {
  ConnectionAuthorizationType,
  ConnectionOAuthHttpMethod,
  ConnectionState,
} from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import type { CreateConnectionRequestSchema } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { openSecret } from "../../../services/event-bus/encryption/connection-secret.ts";
import { getConnection } from "../../../services/event-bus/store/connection.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import { ownerAccount, refusalOf, startHarness } from "../harness.ts";

type ConnectionInit = MessageInitShape<typeof CreateConnectionRequestSchema>;

const basic: ConnectionInit = {
  name: "shop",
  authorizationType: ConnectionAuthorizationType.BASIC,
  authParameters: {
    basicAuthParameters: { username: "alice", password: "open-sesame" },
    invocationHttpParameters: {
      headerParameters: [{ key: "x-tenant", value: "t-1" }],
      queryStringParameters: [{ key: "sig", value: "hidden-signature", isValueSecret: true }],
    },
  },
};

const oauth = (authorizationEndpoint: string): ConnectionInit => ({
  name: "shop",
  authorizationType: ConnectionAuthorizationType.OAUTH_CLIENT_CREDENTIALS,
  authParameters: {
    oAuthParameters: {
      clientParameters: { clientId: "client-1", clientSecret: "client-secret" },
      authorizationEndpoint,
      httpMethod: ConnectionOAuthHttpMethod.POST,
    },
  },
});

/** A refusal of AuthParameters. */
const authRefusal = (text: string): string =>
  `PARAMETER_REFUSED: Parameter AuthParameters is not valid. Reason: ${text}`;

describe("createConnection", () => {
  test("is authorized at once with BASIC, and described without its secrets", async () => {
    const { client } = await startHarness();
    const made = await client.createConnection(basic);
    expect(made.connectionArn).toMatch(/^arn:aws:events:us-east-1:000000000000:connection\/shop\/[0-9a-f-]{36}$/);
    expect(made.connectionState).toBe(ConnectionState.AUTHORIZED);
    const described = await client.describeConnection({ name: "shop" });
    expect(described.secretArn).toMatch(/:secret:events!connection\/shop\/[0-9a-f-]{36}$/);
    expect(described.authParameters?.basicAuthParameters?.username).toBe("alice");
    const http = described.authParameters?.invocationHttpParameters;
    expect(http?.headerParameters.map(({ key, value }) => [key, value])).toEqual([["x-tenant", "t-1"]]);
    expect(http?.queryStringParameters.map(({ key, value }) => [key, value])).toEqual([["sig", undefined]]);
    const text = JSON.stringify(described, (_key, value: unknown) => (typeof value === "bigint" ? `${value}` : value));
    expect(text).not.toMatch(/open-sesame|hidden-signature/);
  });

  test("stores secrets in no readable form", async () => {
    const harness = await startHarness();
    await harness.client.createConnection(basic);
    await harness.stop();
    const directory = join(harness.directory, "leveldb");
    const files = await Promise.all(
      (await readdir(directory)).map((name) => readFile(join(directory, name), "latin1")),
    );
    expect(files.join("")).toContain("shop");
    expect(files.join("")).not.toMatch(/open-sesame|hidden-signature/);
  });

  test("with OAUTH is authorizing until the first token has come", async () => {
    const receiver = await startHttpReceiver(() => ({ status: 200, body: '{"access_token":"t","expires_in":3600}' }));
    onTestFinished(() => receiver.close());
    const { client, app } = await startHarness();
    const made = await client.createConnection(oauth(`${receiver.url}/token`));
    expect(made.connectionState).toBe(ConnectionState.AUTHORIZING);
    expect((await client.describeConnection({ name: "shop" })).lastAuthorizedTime).toEqual(made.creationTime);
    await app.jobs.idle();
    expect((await client.describeConnection({ name: "shop" })).connectionState).toBe(ConnectionState.AUTHORIZED);
    expect(receiver.received.map(({ method, url, body }) => `${method} ${url} ${body.toString()}`)).toEqual([
      "POST /token grant_type=client_credentials&client_id=client-1&client_secret=client-secret",
    ]);
  });

  test("with OAUTH is not authorized when the endpoint says no", async () => {
    const receiver = await startHttpReceiver(() => ({ status: 400 }));
    onTestFinished(() => receiver.close());
    const { client, app } = await startHarness();
    await client.createConnection(oauth(receiver.url));
    await app.jobs.idle();
    const described = await client.describeConnection({ name: "shop" });
    expect([described.connectionState, described.stateReason]).toEqual([
      ConnectionState.DEAUTHORIZED,
      "The authorization endpoint answered with status 400.",
    ]);
  });

  test("refuses, in this order", async () => {
    const { client } = await startHarness({ limits: { connectionsMax: 1 } });
    await client.createConnection(basic);
    const privately = { resourceParameters: { resourceConfigurationArn: "x" } };
    // request | refusal
    const refuses: [ConnectionInit, string][] = [
      [
        { ...basic, invocationConnectivityParameters: privately },
        "PARAMETER_REFUSED: Parameter InvocationConnectivityParameters is not valid. Reason: private networks are not offered.",
      ],
      [
        { ...basic, authorizationType: ConnectionAuthorizationType.API_KEY },
        authRefusal("BasicAuthParameters does not fit this AuthorizationType."),
      ],
      [{ ...basic, authParameters: {} }, authRefusal("BasicAuthParameters is required for this AuthorizationType.")],
      [oauth("ftp://x"), authRefusal("AuthorizationEndpoint is not an HTTP URL.")],
      [basic, "CONNECTION_ALREADY_EXISTS: Connection shop already exists."],
      [{ ...basic, name: "second" }, "LIMIT_EXCEEDED"],
    ];
    const answers = await Promise.all(refuses.map(([request]) => refusalOf(client.createConnection(request))));
    expect(answers).toEqual(refuses.map(([, refusal]) => refusal));
  });
});

describe("listConnections and deleteConnection", () => {
  test("list by name and state, and delete with the secrets", async () => {
    const { client } = await startHarness();
    await client.createConnection(basic);
    await client.createConnection({ ...basic, name: "depot" });
    expect((await client.listConnections({})).connections.map(({ name }) => name)).toEqual(["depot", "shop"]);
    expect((await client.listConnections({ connectionState: ConnectionState.AUTHORIZING })).connections).toEqual([]);
    const deleted = await client.deleteConnection({ name: "shop" });
    expect(deleted.connectionState).toBe(ConnectionState.DELETING);
    expect(await refusalOf(client.describeConnection({ name: "shop" }))).toBe(
      "CONNECTION_NOT_FOUND: Failed to describe the connection(s). Connection 'shop' does not exist.",
    );
    expect(await refusalOf(client.deleteConnection({ name: "shop" }))).toBe(
      "CONNECTION_NOT_FOUND: Connection 'shop' does not exist.",
    );
  });
});

describe("updateConnection and deauthorizeConnection", () => {
  test("change what is given and keep the rest, the secrets too", async () => {
    const { client, app } = await startHarness();
    await client.createConnection(basic);
    await client.updateConnection({ name: "shop", description: "the shop" });
    await client.updateConnection({ name: "shop", authParameters: { basicAuthParameters: { username: "bob" } } });
    const described = await client.describeConnection({ name: "shop" });
    expect([described.description, described.authParameters?.basicAuthParameters?.username]).toEqual([
      "the shop",
      "bob",
    ]);
    expect(described.authParameters?.invocationHttpParameters?.headerParameters.map(({ key }) => key)).toEqual([
      "x-tenant",
    ]);
    const stored = await app.store.read((reader) => getConnection(reader, ownerAccount, "shop"));
    expect(openSecret(app.keyring, ownerAccount, stored)?.basicAuthParameters?.password).toBe("open-sesame");
  });

  test("remove what is sent with every request where none of it is given, and the credentials stay", async () => {
    const { client } = await startHarness();
    await client.createConnection(basic);
    await client.updateConnection({ name: "shop", authParameters: { invocationHttpParameters: {} } });
    const { authParameters } = await client.describeConnection({ name: "shop" });
    expect(authParameters?.basicAuthParameters?.username).toBe("alice");
    expect(authParameters?.invocationHttpParameters).toMatchObject({ headerParameters: [], queryStringParameters: [] });
  });

  test("refuse a new type without what it needs, and a connection that is not there", async () => {
    const { client } = await startHarness();
    await client.createConnection(basic);
    expect(
      await refusalOf(
        client.updateConnection({ name: "shop", authorizationType: ConnectionAuthorizationType.API_KEY }),
      ),
    ).toBe(
      "PARAMETER_REFUSED: Parameter AuthParameters is not valid. Reason: what this AuthorizationType needs is neither given nor stored.",
    );
    const missing = "CONNECTION_NOT_FOUND: Connection 'gone' does not exist.";
    expect(await refusalOf(client.updateConnection({ name: "gone" }))).toBe(missing);
    expect(await refusalOf(client.deauthorizeConnection({ name: "gone" }))).toBe(missing);
  });

  test("remove every secret, until the connection is given new ones", async () => {
    const { client } = await startHarness();
    const { connectionArn } = await client.createConnection(basic);
    await client.createApiDestination({
      name: "till",
      connectionArn,
      invocationEndpoint: "https://shop.example/",
      httpMethod: ApiDestinationHttpMethod.POST,
    });
    const state = async () => (await client.describeApiDestination({ name: "till" })).apiDestinationState;
    await client.deauthorizeConnection({ name: "shop" });
    const described = await client.describeConnection({ name: "shop" });
    expect([described.connectionState, described.authParameters, described.secretArn]).toEqual([
      ConnectionState.DEAUTHORIZED,
      undefined,
      undefined,
    ]);
    expect(await state()).toBe(ApiDestinationState.INACTIVE);
    await client.updateConnection({
      name: "shop",
      authParameters: { basicAuthParameters: { username: "bob", password: "new" } },
    });
    expect(await state()).toBe(ApiDestinationState.ACTIVE);
  });
});
