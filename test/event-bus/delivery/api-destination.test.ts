import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";

import { describe, expect, onTestFinished, test } from "vitest";

import { ApiDestinationHttpMethod } from "../../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import {
  ConnectionAuthorizationType,
  ConnectionOAuthHttpMethod,
} from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import type { KeyNames } from "../../../services/kit/keyring/key-names.ts";
import { anyKeyNames, NamedKeyError } from "../../../services/kit/keyring/key-names.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import { startHarness } from "../harness.ts";
import type { ShopOptions } from "./shop.ts";
import { openShop } from "./shop.ts";

/** Sells once; gives what the endpoint was sent. */
const sellOnce = async (options: ShopOptions, detail: unknown = { n: 1 }) => {
  const { client, app, deadLetters } = await startHarness();
  const shop = await openShop(client, options);
  await shop.sell(detail);
  await app.jobs.idle();
  return { request: shop.till.received[0], letters: await deadLetters() };
};

/** An authorization endpoint that counts its tokens, and a connection that uses it. */
const oauthShop = async (method: ConnectionOAuthHttpMethod, headers: { key: string; value: string }[] = []) => {
  let count = 0;
  const issuer = await startHttpReceiver(() => ({
    status: 200,
    body: JSON.stringify({ access_token: `token-${++count}`, expires_in: 3600 }),
  }));
  onTestFinished(() => issuer.close());
  const connection = {
    authorizationType: ConnectionAuthorizationType.OAUTH_CLIENT_CREDENTIALS,
    authParameters: {
      oAuthParameters: {
        clientParameters: { clientId: "client-1", clientSecret: "s-1" },
        authorizationEndpoint: `${issuer.url}/token`,
        httpMethod: method,
        oAuthHttpParameters: {
          headerParameters: headers,
          queryStringParameters: [{ key: "tenant", value: "t-1" }],
          bodyParameters: [{ key: "scope", value: "sales" }],
        },
      },
    },
  };
  return { issuer, connection };
};

describe("a request to an API destination", () => {
  test("has the fixed headers and its place in the trace, and no others than it needs", async () => {
    const { request } = await sellOnce({});
    const { host, "content-length": length, traceparent, ...headers } = request?.headers ?? {};
    expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
    expect(headers).toEqual({
      "accept-encoding": "gzip,deflate",
      connection: "keep-alive",
      "content-type": "application/json; charset=utf-8",
      range: "bytes=0-1048575",
      "user-agent": "Amazon/EventBridge/ApiDestinations",
      "x-key": "k-1",
    });
    expect([`http://${host}`, Number(length)]).toEqual([expect.stringContaining("127.0.0.1"), request?.body.length]);
  });

  test("carries the target's headers, query and path values; the connection's win; reserved headers are left out", async () => {
    const { request } = await sellOnce(
      {
        connection: {
          authParameters: {
            apiKeyAuthParameters: { apiKeyName: "x-key", apiKeyValue: "k-1" },
            invocationHttpParameters: {
              headerParameters: [{ key: "X-Both", value: "connection" }],
              queryStringParameters: [{ key: "both", value: "connection" }],
              bodyParameters: [{ key: "tenant", value: "t-1", isValueSecret: true }],
            },
          },
        },
        target: {
          httpParameters: {
            headerParameters: {
              "x-both": "target",
              "x-key": "forged",
              "x-state": "$.detail.state",
              host: "evil",
              te: "x",
            },
            queryStringParameters: { both: "target", n: "$.detail.n", q: "a&b" },
          },
          input: '{"tenant":"forged","n":1.0}',
        },
      },
      { state: "new", n: 1.5 },
    );
    expect(request?.url).toBe("/till?both=connection&n=1.5&q=a%26b");
    expect(request?.body.toString()).toBe('{"n":1.0,"tenant":"t-1"}');
    const { "x-both": both, "x-key": key, "x-state": state, host, te } = request?.headers ?? {};
    expect([both, key, state, te]).toEqual(["connection", "k-1", "new", undefined]);
    expect(host).not.toBe("evil");
  });

  test("fills the stars of the path in order", async () => {
    const receiver = await startHttpReceiver();
    onTestFinished(() => receiver.close());
    await sellOnce(
      {
        destination: {
          invocationEndpoint: `${receiver.url}/shops/*/sales/*`,
          httpMethod: ApiDestinationHttpMethod.PUT,
        },
        target: { httpParameters: { pathParameterValues: ["$.detail.shop", "a/b"] } },
      },
      { shop: "north east" },
    );
    expect(receiver.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "PUT /shops/north%20east/sales/a%2Fb",
    ]);
  });

  test.each([
    ["GET", ApiDestinationHttpMethod.GET, ""],
    ["HEAD", ApiDestinationHttpMethod.HEAD, ""],
    ["OPTIONS", ApiDestinationHttpMethod.OPTIONS, "{}"],
    ["PATCH", ApiDestinationHttpMethod.PATCH, "{}"],
    ["DELETE", ApiDestinationHttpMethod.DELETE, "{}"],
  ])("is a %s where the destination says so", async (method, httpMethod, body) => {
    const { request } = await sellOnce({ destination: { httpMethod }, target: { input: "{}" } });
    expect([request?.method, request?.body.toString()]).toEqual([method, body]);
  });

  test("follows no redirect", async () => {
    const { letters } = await sellOnce({ answer: () => ({ status: 302, headers: { location: "/elsewhere" } }) });
    expect(letters.map(({ letter }) => letter.errorMessage)).toEqual(["The endpoint answered with status 302."]);
  });

  // endpoint | code
  test.each([
    ["that accepts and never answers", false, "TIMEOUT"],
    ["where nobody listens", true, "CONNECTION_FAILURE"],
  ])("to an endpoint %s is tried again", async (_what, isClosed, code) => {
    const { client, app, deadLetters } = await startHarness({ limits: { requestMsMax: 50 } });
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    onTestFinished(() => void silent.close());
    if (isClosed) silent.close();
    const shop = await openShop(client, {
      destination: { invocationEndpoint: `http://127.0.0.1:${port}/` },
      target: { retryPolicy: { maximumRetryAttempts: 0 } },
    });
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    expect((await deadLetters()).map(({ letter }) => [letter.errorCode, letter.exhaustedRetryCondition])).toEqual([
      [code, "MaximumRetryAttempts"],
    ]);
  });

  test("goes nowhere private unless the installation allows it", async () => {
    const { client, app, deadLetters } = await startHarness({ allowsPrivateTargets: false });
    const shop = await openShop(client);
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    await client.updateApiDestination({ name: "till", invocationEndpoint: "https://localhost:1/till" });
    await shop.sell({ n: 2 });
    await app.jobs.idle();
    expect(shop.till.received).toEqual([]);
    expect((await deadLetters()).map(({ letter }) => letter.errorMessage).toSorted()).toEqual([
      expect.stringMatching(
        /^The endpoint may not be reached: localhost is at the private address (127\.0\.0\.1|::1)\.$/,
      ),
      "The endpoint may not be reached: only https may be requested.",
    ]);
  });
});

describe("a connection proves itself", () => {
  test("by user name and password", async () => {
    const { request } = await sellOnce({
      connection: {
        authorizationType: ConnectionAuthorizationType.BASIC,
        authParameters: { basicAuthParameters: { username: "alice", password: "open-sesame" } },
      },
    });
    expect(request?.headers.authorization).toBe("Basic YWxpY2U6b3Blbi1zZXNhbWU=");
  });

  test("by its present secret: a changed one acts on the next delivery, and none is used without its key", async () => {
    const name = "till-key";
    let isUsable = true;
    const keyNames: KeyNames = {
      ...anyKeyNames,
      usableId: (id) => {
        if (id === name && !isUsable) throw new NamedKeyError("DISABLED", id);
        return anyKeyNames.usableId(id);
      },
    };
    const { client, app, clock } = await startHarness({ keyNames });
    const shop = await openShop(client, { connection: { kmsKeyIdentifier: name } });
    const sell = async (): Promise<(string | string[] | undefined)[]> => {
      await shop.sell({ n: 1 });
      await app.jobs.idle();
      return shop.till.received.map(({ headers }) => headers["x-key"]);
    };
    expect([await sell(), await sell()]).toEqual([["k-1"], ["k-1", "k-1"]]);
    await client.updateConnection({
      name: "shop",
      authParameters: { apiKeyAuthParameters: { apiKeyName: "x-key", apiKeyValue: "k-2" } },
    });
    expect(await sell()).toEqual(["k-1", "k-1", "k-2"]);
    isUsable = false;
    expect(await sell()).toEqual(["k-1", "k-1", "k-2"]);
    isUsable = true;
    clock.advance(60_000);
    await app.jobs.idle();
    expect(shop.till.received.map(({ headers }) => headers["x-key"])).toEqual(["k-1", "k-1", "k-2", "k-2"]);
  });

  // method | content type | request line and body of the token request
  test.each([
    [
      ConnectionOAuthHttpMethod.POST,
      [],
      "POST /token?tenant=t-1 grant_type=client_credentials&client_id=client-1&client_secret=s-1&scope=sales",
    ],
    [
      ConnectionOAuthHttpMethod.PUT,
      [{ key: "Content-Type", value: "application/json" }],
      'PUT /token?tenant=t-1 {"grant_type":"client_credentials","client_id":"client-1","client_secret":"s-1","scope":"sales"}',
    ],
    [
      ConnectionOAuthHttpMethod.GET,
      [],
      "GET /token?tenant=t-1&grant_type=client_credentials&client_id=client-1&client_secret=s-1&scope=sales ",
    ],
  ])("by a token that it fetches by $2", async (method, headers, line) => {
    const { client, app } = await startHarness();
    const { issuer, connection } = await oauthShop(method, headers);
    const shop = await openShop(client, { connection });
    await app.jobs.idle();
    await Promise.all([shop.sell({ n: 1 }), shop.sell({ n: 2 })]);
    await app.jobs.idle();
    expect(issuer.received.map(({ method: verb, url, body }) => `${verb} ${url} ${body.toString()}`)).toEqual([line]);
    expect(shop.till.received.map(({ headers: sent }) => sent.authorization)).toEqual([
      "Bearer token-1",
      "Bearer token-1",
    ]);
  });

  test("by a new token when the endpoint refuses the old one, and when its time is over", async () => {
    const { client, app, clock } = await startHarness();
    const { connection } = await oauthShop(ConnectionOAuthHttpMethod.POST);
    const shop = await openShop(client, {
      connection,
      answer: ({ headers }) => ({ status: headers.authorization === "Bearer token-1" ? 401 : 200 }),
    });
    await app.jobs.idle();
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    clock.advance(1_000);
    await app.jobs.idle();
    clock.advance(3_600_000);
    await shop.sell({ n: 2 });
    await app.jobs.idle();
    expect(shop.till.received.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer token-1",
      "Bearer token-2",
      "Bearer token-3",
    ]);
  });
});
