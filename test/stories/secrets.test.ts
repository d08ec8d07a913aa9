/**
 * Secrets stay inside: a system that logs everything is given a secret of its own in each place that takes one, in calls
 * that succeed and in calls that fail. Afterwards none of them stands in what its processes wrote, in a refusal, or in
 * the metrics.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { amzDialect } from "../../gateway/dialects/amz.ts";
import { systemClock } from "../../services/kit/clock/clock.ts";
import { rootCaller } from "../../services/kit/identity/caller.ts";
import { ensureKeyPair } from "../../services/kit/identity/key-files.ts";
import { createMinter } from "../../services/kit/identity/tokens.ts";
import { keysDirectory } from "../../services/kit/process/service-process.ts";
import type { TestResponse } from "../gateway/support/signing-client.ts";
import { send, signHeaders, testKey } from "../gateway/support/signing-client.ts";
import { eventually } from "../support/eventually.ts";
import type { HttpReceiver } from "../support/http-receiver.ts";
import { startHttpReceiver } from "../support/http-receiver.ts";
import type { LoggedSystem } from "../support/logged-system.ts";
import { startLoggedSystem } from "../support/logged-system.ts";

const secrets = new Map<string, string>();

/** A secret that stands nowhere else. */
const plant = (place: string): string => {
  const secret = `hush${randomBytes(9).toString("hex")}`;
  secrets.set(place, secret);
  return secret;
};

/** Notes a secret that somebody else made. */
const note = (place: string, secret: string): string => {
  secrets.set(place, secret);
  return secret;
};

const secretAccessKey = plant("the secret access key");
let dataDir: string;
let system: LoggedSystem;
let endpoint: HttpReceiver;
/** The bodies of refusals, by what was refused. */
const refusals = new Map<string, string>();

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-secrets-"));
  endpoint = await startHttpReceiver();
  system = await startLoggedSystem(dataDir, "trace", {
    QUARTET_ACCESS_KEY_ID: testKey.accessKeyId,
    QUARTET_SECRET_ACCESS_KEY: secretAccessKey,
  });
});

afterAll(async () => {
  await system?.stop();
  await endpoint?.close();
  await rm(dataDir, { recursive: true, force: true });
});

interface Request {
  readonly method: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const signed = (service: string, request: Request, secret = secretAccessKey): Promise<TestResponse> => {
  const headers = signHeaders(request, new URL(system.gatewayUrl).host, {
    brand: amzDialect.signature,
    service,
    nowMs: Date.now(),
    tellsHash: service === "s3",
    secret,
  });
  return send(system.gatewayUrl, request, headers);
};

const succeeds = async (answer: Promise<TestResponse>): Promise<TestResponse> => {
  const given = await answer;
  expect(given.body).not.toMatch(/"__type"|<Error>/);
  expect([200, 204]).toContain(given.status);
  return given;
};

const fails = async (what: string, answer: Promise<TestResponse | Response>): Promise<void> => {
  const given = await answer;
  const body = given instanceof Response ? await given.text() : given.body;
  expect(given.status, `${what}: ${body}`).toBeGreaterThanOrEqual(400);
  refusals.set(what, body);
};

const onBus = (operation: string, body: unknown): Promise<TestResponse> =>
  signed("events", {
    method: "POST",
    target: "/",
    headers: { "content-type": "application/x-amz-json-1.1", "x-amz-target": `AWSEvents.${operation}` },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

const onProfiles = (method: string, target: string, body: unknown): Promise<TestResponse> =>
  signed("profile", {
    method,
    target,
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

const member = (answer: TestResponse, name: string): string =>
  String((JSON.parse(answer.body) as Record<string, unknown>)[name]);

/** The secrets and each form in which they travel, with where they were planted. */
const forms = (): (readonly [place: string, form: string])[] =>
  [...secrets].flatMap(([place, secret]) => {
    const encoded = [0, 1, 2].map((shift) =>
      // The part of the text in base64 that does not depend on what stands around it.
      Buffer.from("x".repeat(shift) + secret)
        .toString("base64")
        .slice(shift === 0 ? 0 : 4, -4),
    );
    const all = [secret, encodeURIComponent(secret), Buffer.from(secret).toString("hex"), ...encoded];
    return [...new Set(all)].map((form) => [place, form] as const);
  });

const leaksOf = (text: string): string[] => [
  ...new Set(forms().flatMap(([place, form]) => (text.includes(form) ? [place] : []))),
];

test("the event bus takes secrets of connections", { timeout: 60_000 }, async () => {
  const connection = (name: string, parameters: object, type = "API_KEY") =>
    onBus("CreateConnection", { Name: name, AuthorizationType: type, AuthParameters: parameters });
  const apiKey = { ApiKeyAuthParameters: { ApiKeyName: "x-key", ApiKeyValue: plant("an API key") } };
  const made = await succeeds(connection("by-key", apiKey));
  await fails("a connection that is there already", connection("by-key", apiKey));
  await succeeds(
    connection("by-password", { BasicAuthParameters: { Username: "ada", Password: plant("a password") } }, "BASIC"),
  );
  await succeeds(
    connection(
      "by-client",
      {
        OAuthParameters: {
          AuthorizationEndpoint: `http://127.0.0.1:9/${plant("a path of an authorization endpoint").slice(0, 4)}`,
          HttpMethod: "POST",
          ClientParameters: { ClientID: "client", ClientSecret: plant("a client secret") },
          OAuthHttpParameters: {
            BodyParameters: [{ Key: "extra", Value: plant("a body parameter of OAuth"), IsValueSecret: true }],
          },
        },
        InvocationHttpParameters: {
          HeaderParameters: [{ Key: "x-more", Value: plant("a header parameter"), IsValueSecret: true }],
          QueryStringParameters: [{ Key: "q", Value: plant("a query parameter"), IsValueSecret: true }],
        },
      },
      "OAUTH_CLIENT_CREDENTIALS",
    ),
  );
  await succeeds(
    onBus("UpdateConnection", {
      Name: "by-password",
      AuthorizationType: "BASIC",
      AuthParameters: { BasicAuthParameters: { Username: "ada", Password: plant("a changed password") } },
    }),
  );
  await fails(
    "an API key that is too long",
    connection("too-long", {
      ApiKeyAuthParameters: { ApiKeyName: "x-key", ApiKeyValue: plant("a long API key").padEnd(600, "x") },
    }),
  );
  await fails(
    "an API key with a line break",
    connection("broken", {
      ApiKeyAuthParameters: { ApiKeyName: "x-key", ApiKeyValue: `${plant("an API key of two lines")}\r\nx-more: 1` },
    }),
  );
  await fails(
    "a password that is an object",
    connection(
      "odd",
      { BasicAuthParameters: { Username: "a", Password: { [plant("a password as an object")]: 1 } } },
      "BASIC",
    ),
  );
  await fails(
    "a malformed document",
    onBus("CreateConnection", `{"Name": "x", "Password": "${plant("a malformed document")}`),
  );
  await fails("a document with a bad escape", onBus("CreateConnection", `{"Password": "${plant("a bad escape")}\\q"}`));
  await fails("a page token of no listing", onBus("ListConnections", { NextToken: plant("a made-up page token") }));

  const arn = member(made, "ConnectionArn");
  const destination = (name: string, url: string) =>
    onBus("CreateApiDestination", { Name: name, ConnectionArn: arn, HttpMethod: "POST", InvocationEndpoint: url });
  const reached = member(await succeeds(destination("reached", `${endpoint.url}/in`)), "ApiDestinationArn");
  const absent = member(await succeeds(destination("absent", "http://127.0.0.1:9/in")), "ApiDestinationArn");
  await succeeds(onBus("PutRule", { Name: "all", EventPattern: '{"source":["story"]}' }));
  const roleArn = "arn:aws:iam::000000000000:role/invoke";
  const targets = [reached, absent].map((Arn, index) => ({ Id: String(index), Arn, RoleArn: roleArn }));
  await succeeds(onBus("PutTargets", { Rule: "all", Targets: targets }));
  await succeeds(onBus("PutEvents", { Entries: [{ Source: "story", DetailType: "told", Detail: "{}" }] }));
  const [delivered] = await eventually(() => endpoint.received.length > 0 && endpoint.received, "the event arrives");
  expect(delivered?.headers["x-key"]).toBe(secrets.get("an API key"));
});

test("the customer profile takes what people tell of themselves", { timeout: 60_000 }, async () => {
  await succeeds(onProfiles("POST", "/domains/shop", { DefaultExpirationDays: 30 }));
  const profile = {
    FirstName: plant("a first name"),
    LastName: plant("a last name"),
    EmailAddress: `${plant("a mail address")}@example.com`,
    AccountNumber: plant("an account number"),
    AdditionalInformation: plant("further information"),
    Address: { Address1: plant("an address"), City: plant("a city") },
    Attributes: { plan: plant("an attribute") },
  };
  const made = await succeeds(onProfiles("POST", "/domains/shop/profiles", profile));
  await succeeds(
    onProfiles("PUT", "/domains/shop/profiles", {
      ProfileId: member(made, "ProfileId"),
      PhoneNumber: plant("a phone number"),
    }),
  );
  const search = (values: unknown, query = "") =>
    onProfiles("POST", `/domains/shop/profiles/search${query}`, { KeyName: "_account", Values: values });
  await succeeds(search([profile.AccountNumber]));
  await fails(
    "a name that is too long",
    onProfiles("POST", "/domains/shop/profiles", { FirstName: plant("a long name").padEnd(400, "x") }),
  );
  await fails(
    "names as a list",
    onProfiles("POST", "/domains/shop/profiles", { LastName: [plant("a name in a list")] }),
  );
  await fails(
    "an unknown domain",
    onProfiles("POST", "/domains/other/profiles", { FirstName: plant("a name in no domain") }),
  );
  await fails(
    "a profile that is not there",
    onProfiles("PUT", "/domains/shop/profiles", { ProfileId: "0".repeat(32), FirstName: plant("a name of nobody") }),
  );
  await fails("values that are no list", search(plant("a search value")));
  await fails(
    "a page token of no search",
    search([plant("a searched value")], `?next-token=${plant("a search's page token")}`),
  );
  await fails(
    "a malformed profile",
    onProfiles("POST", "/domains/shop/profiles", `{"FirstName": "${plant("a malformed profile")}`),
  );

  const fields = { email: { Source: "_source.email", Target: "_profile.EmailAddress", ContentType: "EMAIL_ADDRESS" } };
  const keys = { mail: [{ StandardIdentifiers: ["UNIQUE", "PROFILE"], FieldNames: ["email"] }] };
  await succeeds(
    onProfiles("PUT", "/domains/shop/object-types/people", {
      AllowProfileCreation: true,
      Description: plant("a description"),
      Fields: fields,
      Keys: keys,
    }),
  );
  const put = (object: string) =>
    onProfiles("PUT", "/domains/shop/profiles/objects", { ObjectTypeName: "people", Object: object });
  await succeeds(put(JSON.stringify({ email: `${plant("an object's member")}@example.com` })));
  await fails("an object that is no JSON", put(`{"email": "${plant("an object that is cut off")}`));
  await fails("an object without its key", put(JSON.stringify({ other: plant("an object without its key") })));
});

test("the refactoring workspace takes tags", { timeout: 60_000 }, async () => {
  const environment = (tags: unknown, name = "one") =>
    signed("refactor-spaces", {
      method: "POST",
      target: "/environments",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ Name: name, NetworkFabricType: "NONE", Tags: tags }),
    });
  await succeeds(environment({ owner: plant("a tag") }));
  await fails("a tag that is too long", environment({ owner: plant("a long tag").padEnd(300, "x") }, "two"));
  await fails(
    "a tag with a long name",
    environment({ [plant("a long name of a tag").padEnd(200, "x")]: "1" }, "three"),
  );
  await fails("a tag that is a number", environment({ owner: { [plant("a tag as an object")]: 1 } }, "four"));
});

test("object storage takes keys of callers, tokens and signed URLs", { timeout: 60_000 }, async () => {
  const s3 = (request: Request, secret?: string) => signed("s3", request, secret);
  await succeeds(s3({ method: "PUT", target: "/vault" }));
  for (const key of ["a", "b", "c"]) await succeeds(s3({ method: "PUT", target: `/vault/${key}`, body: key }));

  const customerKey = (place: string): Record<string, string> => {
    const key = Buffer.from(plant(place).padEnd(32, "x").slice(0, 32));
    return {
      "x-amz-server-side-encryption-customer-algorithm": "AES256",
      "x-amz-server-side-encryption-customer-key": note(`${place}, encoded`, key.toString("base64")),
      "x-amz-server-side-encryption-customer-key-md5": createHash("md5").update(key).digest("base64"),
    };
  };
  const withKey = (place: string, more: object = {}, secret?: string) =>
    s3({ method: "PUT", target: "/vault/locked", headers: { ...customerKey(place), ...more }, body: "x" }, secret);
  // Whether the service encrypts with it or refuses it, the key stays inside.
  refusals.set("a customer's key", (await withKey("a customer's key")).body);
  await fails(
    "a customer's key with a wrong digest",
    withKey("a key with a wrong digest", { "x-amz-server-side-encryption-customer-key-md5": "AAAA" }),
  );
  await fails(
    "a customer's key of a wrong algorithm",
    withKey("a key of a wrong algorithm", { "x-amz-server-side-encryption-customer-algorithm": "DES" }),
  );
  await fails("a customer's key under a wrong signature", withKey("a key under a wrong signature", {}, "wrong"));
  await fails(
    "a session token that nobody gave",
    s3({ method: "GET", target: "/vault", headers: { "x-amz-security-token": plant("a session token") } }),
  );
  await fails(
    "a session token under a wrong signature",
    s3(
      {
        method: "GET",
        target: "/vault",
        headers: { "x-amz-security-token": plant("a session token, wrongly signed") },
      },
      "wrong",
    ),
  );

  const page = await succeeds(s3({ method: "GET", target: "/vault?list-type=2&max-keys=1" }));
  const token = note("a real page token", /<NextContinuationToken>([^<]+)</.exec(page.body)?.[1] ?? "");
  expect(token.length).toBeGreaterThan(20);
  await succeeds(s3({ method: "GET", target: `/vault?continuation-token=${encodeURIComponent(token)}&list-type=2` }));
  await fails(
    "a page token of another listing",
    s3({ method: "GET", target: `/vault?continuation-token=${encodeURIComponent(token)}&list-type=2&prefix=z` }),
  );
  await fails(
    "a made-up page token",
    s3({ method: "GET", target: `/vault?continuation-token=${plant("a made-up continuation token")}&list-type=2` }),
  );

  const url = (place: string, target: string, expires = 60): string => {
    const link = signedUrl(target, expires);
    note(place, new URL(link).searchParams.get("X-Amz-Signature") ?? "");
    return link;
  };
  const got = await fetch(url("the signature of a URL", "/vault/a"));
  expect(await got.text()).toBe("a");
  await fails("a signed URL for nothing", fetch(url("the signature of a URL for nothing", "/vault/none")));
  await fails("a signed URL that has expired", fetch(url("the signature of an expired URL", "/vault/a", -60)));
  const tampered = url("the signature of a URL that was changed", "/vault/a").replace(/.$/, (last) =>
    last === "0" ? "1" : "0",
  );
  await fails("a signed URL with another signature", fetch(tampered));
  await fails(
    "a signed URL with a session token",
    fetch(
      `${url("the signature of a URL with more", "/vault/a")}&X-Amz-Security-Token=${plant("a session token in a URL")}`,
    ),
  );
});

test("the services take tokens and requests of callers who know them", { timeout: 60_000 }, async () => {
  const minter = createMinter({ keyPair: await ensureKeyPair(keysDirectory(dataDir), "gateway"), clock: systemClock });
  const token = note("a bearer token", await minter.mint(rootCaller("000000000000")));
  const signature = note("the signature of a bearer token", token.split(".")[2] ?? "");
  const base = `${system.urls("customer-profile")["rpc"]}/quartet.customerprofile.v1.CustomerProfileService`;
  const post = (method: string, authorization: string, body: string) =>
    fetch(`${base}/${method}`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body,
    });
  const bearer = `Bearer ${token}`;
  const made = await post(
    "CreateProfile",
    bearer,
    JSON.stringify({ domainName: "shop", firstName: plant("a name by RPC") }),
  );
  expect(made.status).toBe(200);
  await fails("a tampered token", post("ListDomains", `${bearer}x`, "{}"));
  await fails("a token of nobody", post("ListDomains", `Bearer ${plant("a made-up token")}`, "{}"));
  await fails(
    "a password instead of a token",
    post("ListDomains", `Basic ${Buffer.from(`ada:${plant("a password of nobody")}`).toString("base64")}`, "{}"),
  );
  await fails(
    "a long name by RPC",
    post(
      "CreateProfile",
      bearer,
      JSON.stringify({ domainName: "shop", firstName: plant("a long name by RPC").padEnd(400, "x") }),
    ),
  );
  await fails("a malformed request", post("CreateProfile", bearer, `{"firstName": "${plant("a malformed request")}`));
  await fails(
    "a member of the wrong type",
    post(
      "CreateProfile",
      bearer,
      JSON.stringify({ domainName: "shop", firstName: { [plant("a name as an object")]: 1 } }),
    ),
  );
  await fails(
    "a page token by RPC",
    post("ListDomains", bearer, JSON.stringify({ nextToken: plant("a page token by RPC") })),
  );
  const query = new URLSearchParams({
    encoding: "json",
    message: JSON.stringify({ nextToken: plant("a request in a URL") }),
    connect: "v1",
  });
  refusals.set(
    "a request in a URL",
    await (await fetch(`${base}/ListDomains?${query}`, { headers: { authorization: bearer } })).text(),
  );
  const broken = `${base}/ListDomains?${new URLSearchParams({ encoding: "json", message: `{${plant("a malformed request in a URL")}`, connect: "v1" })}`;
  await fails("a malformed request in a URL", fetch(broken, { headers: { authorization: bearer } }));
  expect(signature.length).toBeGreaterThan(20);
});

test(
  "none of them stands in a refusal, in the metrics or in what the processes wrote",
  { timeout: 60_000 },
  async () => {
    const pages = await Promise.all(
      [
        `${system.urls("gateway")["admin"]}/metrics`,
        ...["customer-profile", "refactoring-workspace", "event-bus", "object-storage"].map(
          (name) => `${system.urls(name)["rpc"]}/metrics`,
        ),
      ].map(async (url) => {
        const response = await fetch(url);
        expect(response.status).toBe(200);
        return response.text();
      }),
    );
    expect(leaksOf(pages.join("\n"))).toEqual([]);
    const told = [...refusals]
      .map(([what, body]) => [what, leaksOf(body)] as const)
      .filter(([, leaks]) => leaks.length > 0);
    expect(told).toEqual([]);

    // A failed delivery has been tried again, and the processes have written what they write at their end.
    await system.stop();
    const output = system.output();
    expect(output).toContain('"msg":"received"');
    expect(
      output
        .split("\n")
        .filter((line) => leaksOf(line).length > 0)
        .map((line) => [leaksOf(line), line]),
    ).toEqual([]);
  },
);

const signedUrl = (target: string, expires: number): string => {
  const host = new URL(system.gatewayUrl).host;
  const time = new Date(expires < 0 ? Date.now() - 120_000 : Date.now()).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const query = new URLSearchParams({
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": `${testKey.accessKeyId}/${scope}`,
    "X-Amz-Date": time,
    "X-Amz-Expires": String(Math.abs(expires)),
    "X-Amz-SignedHeaders": "host",
  });
  const canonical = ["GET", target, query, `host:${host}`, "", "host", "UNSIGNED-PAYLOAD"].join("\n");
  const hash = createHash("sha256").update(canonical).digest("hex");
  let key = Buffer.from(`AWS4${secretAccessKey}`);
  for (const part of scope.split("/")) key = createHmac("sha256", key).update(part).digest();
  const signature = createHmac("sha256", key).update(["AWS4-HMAC-SHA256", time, scope, hash].join("\n")).digest("hex");
  return `http://${host}${target}?${query}&X-Amz-Signature=${signature}`;
};
