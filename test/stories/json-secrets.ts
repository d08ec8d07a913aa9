import { expect } from "vitest";

import { systemClock } from "../../services/kit/clock/clock.ts";
import { rootCaller } from "../../services/kit/identity/caller.ts";
import { ensureKeyPair } from "../../services/kit/identity/key-files.ts";
import { createMinter } from "../../services/kit/identity/tokens.ts";
import { keysDirectory } from "../../services/kit/process/keys-directory.ts";
import { testKey } from "../gateway/support/signing-client.ts";
import { createDeliveryRole } from "../support/delivery-role.ts";
import { eventually } from "../support/eventually.ts";
import type { SecretCalls } from "./secret-calls.ts";
import { member } from "./secret-calls.ts";

/** Secrets of connections, page tokens, and deliveries that use them. */
export const giveEventBus = async (calls: SecretCalls): Promise<void> => {
  const { plant } = calls.secrets;
  const connection = (name: string, parameters: object, type = "API_KEY") =>
    calls.onBus("CreateConnection", { Name: name, AuthorizationType: type, AuthParameters: parameters });
  const apiKey = { ApiKeyAuthParameters: { ApiKeyName: "x-key", ApiKeyValue: plant("an API key") } };
  const made = await calls.succeeds(connection("by-key", apiKey));
  await calls.fails("a connection that is there already", connection("by-key", apiKey));
  await calls.succeeds(
    connection("by-password", { BasicAuthParameters: { Username: "ada", Password: plant("a password") } }, "BASIC"),
  );
  await calls.succeeds(
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
  await calls.succeeds(
    calls.onBus("UpdateConnection", {
      Name: "by-password",
      AuthorizationType: "BASIC",
      AuthParameters: { BasicAuthParameters: { Username: "ada", Password: plant("a changed password") } },
    }),
  );
  await calls.fails(
    "an API key that is too long",
    connection("too-long", {
      ApiKeyAuthParameters: { ApiKeyName: "x-key", ApiKeyValue: plant("a long API key").padEnd(600, "x") },
    }),
  );
  await calls.fails(
    "an API key with a line break",
    connection("broken", {
      ApiKeyAuthParameters: { ApiKeyName: "x-key", ApiKeyValue: `${plant("an API key of two lines")}\r\nx-more: 1` },
    }),
  );
  await calls.fails(
    "a password that is an object",
    connection(
      "odd",
      { BasicAuthParameters: { Username: "a", Password: { [plant("a password as an object")]: 1 } } },
      "BASIC",
    ),
  );
  await calls.fails(
    "a malformed document",
    calls.onBus("CreateConnection", `{"Name": "x", "Password": "${plant("a malformed document")}`),
  );
  await calls.fails(
    "a document with a bad escape",
    calls.onBus("CreateConnection", `{"Password": "${plant("a bad escape")}\\q"}`),
  );
  await calls.fails(
    "a page token of no listing",
    calls.onBus("ListConnections", { NextToken: plant("a made-up page token") }),
  );

  const arn = member(made, "ConnectionArn");
  const destination = (name: string, url: string) =>
    calls.onBus("CreateApiDestination", {
      Name: name,
      ConnectionArn: arn,
      HttpMethod: "POST",
      InvocationEndpoint: url,
    });
  const reached = member(await calls.succeeds(destination("reached", `${calls.endpoint.url}/in`)), "ApiDestinationArn");
  const absent = member(await calls.succeeds(destination("absent", "http://127.0.0.1:9/in")), "ApiDestinationArn");
  await calls.succeeds(calls.onBus("PutRule", { Name: "all", EventPattern: '{"source":["story"]}' }));
  const roleArn = await createDeliveryRole({
    endpoint: calls.system.gatewayUrl,
    credentials: { accessKeyId: testKey.accessKeyId, secretAccessKey: calls.secretAccessKey },
  });
  const targets = [reached, absent].map((Arn, index) => ({ Id: String(index), Arn, RoleArn: roleArn }));
  await calls.succeeds(calls.onBus("PutTargets", { Rule: "all", Targets: targets }));
  await calls.succeeds(calls.onBus("PutEvents", { Entries: [{ Source: "story", DetailType: "told", Detail: "{}" }] }));
  const [delivered] = await eventually(
    () => calls.endpoint.received.length > 0 && calls.endpoint.received,
    "the event arrives",
  );
  expect(delivered?.headers["x-key"]).toBe(calls.secrets.get("an API key"));
};

/** What people tell of themselves. */
export const giveCustomerProfile = async (calls: SecretCalls): Promise<void> => {
  const { plant } = calls.secrets;
  await calls.succeeds(calls.onProfiles("POST", "/domains/shop", { DefaultExpirationDays: 30 }));
  const profile = {
    FirstName: plant("a first name"),
    LastName: plant("a last name"),
    EmailAddress: `${plant("a mail address")}@example.com`,
    AccountNumber: plant("an account number"),
    AdditionalInformation: plant("further information"),
    Address: { Address1: plant("an address"), City: plant("a city") },
    Attributes: { plan: plant("an attribute") },
  };
  const made = await calls.succeeds(calls.onProfiles("POST", "/domains/shop/profiles", profile));
  await calls.succeeds(
    calls.onProfiles("PUT", "/domains/shop/profiles", {
      ProfileId: member(made, "ProfileId"),
      PhoneNumber: plant("a phone number"),
    }),
  );
  const search = (values: unknown, query = "") =>
    calls.onProfiles("POST", `/domains/shop/profiles/search${query}`, { KeyName: "_account", Values: values });
  await calls.succeeds(search([profile.AccountNumber]));
  await calls.fails(
    "a name that is too long",
    calls.onProfiles("POST", "/domains/shop/profiles", { FirstName: plant("a long name").padEnd(400, "x") }),
  );
  await calls.fails(
    "names as a list",
    calls.onProfiles("POST", "/domains/shop/profiles", { LastName: [plant("a name in a list")] }),
  );
  await calls.fails(
    "an unknown domain",
    calls.onProfiles("POST", "/domains/other/profiles", { FirstName: plant("a name in no domain") }),
  );
  await calls.fails(
    "a profile that is not there",
    calls.onProfiles("PUT", "/domains/shop/profiles", {
      ProfileId: "0".repeat(32),
      FirstName: plant("a name of nobody"),
    }),
  );
  await calls.fails("values that are no list", search(plant("a search value")));
  await calls.fails(
    "a page token of no search",
    search([plant("a searched value")], `?next-token=${plant("a search's page token")}`),
  );
  await calls.fails(
    "a malformed profile",
    calls.onProfiles("POST", "/domains/shop/profiles", `{"FirstName": "${plant("a malformed profile")}`),
  );

  const fields = { email: { Source: "_source.email", Target: "_profile.EmailAddress", ContentType: "EMAIL_ADDRESS" } };
  const keys = { mail: [{ StandardIdentifiers: ["UNIQUE", "PROFILE"], FieldNames: ["email"] }] };
  await calls.succeeds(
    calls.onProfiles("PUT", "/domains/shop/object-types/people", {
      AllowProfileCreation: true,
      Description: plant("a description"),
      Fields: fields,
      Keys: keys,
    }),
  );
  const put = (object: string) =>
    calls.onProfiles("PUT", "/domains/shop/profiles/objects", { ObjectTypeName: "people", Object: object });
  await calls.succeeds(put(JSON.stringify({ email: `${plant("an object's member")}@example.com` })));
  await calls.fails("an object that is no JSON", put(`{"email": "${plant("an object that is cut off")}`));
  await calls.fails("an object without its key", put(JSON.stringify({ other: plant("an object without its key") })));
};

/** Tags, which are sensitive members here. */
export const giveWorkspace = async (calls: SecretCalls): Promise<void> => {
  const { plant } = calls.secrets;
  const environment = (tags: unknown, name = "one") =>
    calls.signed("refactor-spaces", {
      method: "POST",
      target: "/environments",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ Name: name, NetworkFabricType: "NONE", Tags: tags }),
    });
  await calls.succeeds(environment({ owner: plant("a tag") }));
  await calls.fails("a tag that is too long", environment({ owner: plant("a long tag").padEnd(300, "x") }, "two"));
  await calls.fails(
    "a tag with a long name",
    environment({ [plant("a long name of a tag").padEnd(200, "x")]: "1" }, "three"),
  );
  await calls.fails("a tag that is a number", environment({ owner: { [plant("a tag as an object")]: 1 } }, "four"));
};

/** Tokens and requests of callers who know the services themselves. */
export const giveServices = async (calls: SecretCalls): Promise<void> => {
  const { plant, note } = calls.secrets;
  const minter = createMinter({
    keyPair: await ensureKeyPair(keysDirectory(calls), "gateway"),
    clock: systemClock,
  });
  const token = note(
    "a bearer token",
    await minter.mint(rootCaller("000000000000"), ["customer-profile", "event-bus"]),
  );
  const signature = note("the signature of a bearer token", token.split(".")[2] ?? "");
  const base = `${calls.system.urls("customer-profile")["rpc"]}/quartet.customerprofile.v1.CustomerProfileService`;
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
  await calls.fails("a tampered token", post("ListDomains", `${bearer}x`, "{}"));
  await calls.fails("a token of nobody", post("ListDomains", `Bearer ${plant("a made-up token")}`, "{}"));
  await calls.fails(
    "a password instead of a token",
    post("ListDomains", `Basic ${Buffer.from(`ada:${plant("a password of nobody")}`).toString("base64")}`, "{}"),
  );
  await calls.fails(
    "a long name by RPC",
    post(
      "CreateProfile",
      bearer,
      JSON.stringify({ domainName: "shop", firstName: plant("a long name by RPC").padEnd(400, "x") }),
    ),
  );
  await calls.fails(
    "a malformed request",
    post("CreateProfile", bearer, `{"firstName": "${plant("a malformed request")}`),
  );
  await calls.fails(
    "a member of the wrong type",
    post(
      "CreateProfile",
      bearer,
      JSON.stringify({ domainName: "shop", firstName: { [plant("a name as an object")]: 1 } }),
    ),
  );
  await calls.fails(
    "a page token by RPC",
    post("ListDomains", bearer, JSON.stringify({ nextToken: plant("a page token by RPC") })),
  );
  const query = new URLSearchParams({
    encoding: "json",
    message: JSON.stringify({ nextToken: plant("a request in a URL") }),
    connect: "v1",
  });
  calls.refusals.set(
    "a request in a URL",
    await (await fetch(`${base}/ListDomains?${query.toString()}`, { headers: { authorization: bearer } })).text(),
  );
  const message = `{${plant("a malformed request in a URL")}`;
  const malformed = new URLSearchParams({ encoding: "json", message, connect: "v1" });
  const broken = `${base}/ListDomains?${malformed.toString()}`;
  await calls.fails("a malformed request in a URL", fetch(broken, { headers: { authorization: bearer } }));
  expect(signature.length).toBeGreaterThan(20);
};
