import { describe, expect, onTestFinished, test } from "vitest";

import { userCaller } from "../../../services/kit/identity/caller.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { allowing, openIdentity, root, shop } from "./identity.ts";

type Opened = Awaited<ReturnType<typeof openIdentity>>;
type Name = Parameters<Opened["call"]>[0];

const url = "https://login.example.com/shop";
const arnOf = (name: string) => `arn:aws:iam::${shop}:oidc-provider/${name}`;
const openIdConnectProviderArn = arnOf("login.example.com/shop");
const declaredArn = arnOf("token.example.com");
const declared = {
  identityProviders: [
    { accountId: shop, arn: declaredArn, issuer: "https://token.example.com", audiences: ["quartet"] },
  ],
};
const thumbprint = "9e99a48a9960b14926bb7f3b02e22da2b0ab7280";
const numbered = (count: number, front: string) => Array.from({ length: count }, (_, index) => `${front}${index}`);

const open = async (directory?: string): Promise<Opened> => {
  const opened = await openIdentity(declared, directory);
  onTestFinished(opened.close);
  return opened;
};

const furnished = async (): Promise<Opened> => {
  const opened = await open();
  const tags = [{ key: "team", value: "sea" }];
  await opened.call("createOpenIDConnectProvider", { url, clientIdList: ["web"], thumbprintList: [thumbprint], tags });
  return opened;
};

describe("an OpenID Connect provider", () => {
  test("is created, shown, changed and deleted, each safely repeated", async () => {
    const { call, stored } = await open();
    const tags = [{ key: "team", value: "sea" }];
    expect(await call("createOpenIDConnectProvider", { url, clientIdList: ["web", "web"], tags })).toEqual({
      openIdConnectProviderArn,
      tags,
    });
    const get = () => call("getOpenIDConnectProvider", { openIdConnectProviderArn });
    expect(await get()).toMatchObject({
      url: "login.example.com/shop",
      clientIdList: ["web"],
      thumbprintList: [],
      createDate: { seconds: 1_767_323_045n },
      tags,
    });
    for (let made = 0; made < 2; made += 1) {
      await call("addClientIDToOpenIDConnectProvider", { openIdConnectProviderArn, clientId: "cli" });
      await call("updateOpenIDConnectProviderThumbprint", { openIdConnectProviderArn, thumbprintList: [thumbprint] });
      await call("tagOpenIDConnectProvider", { openIdConnectProviderArn, tags: [{ key: "stage", value: "test" }] });
    }
    expect(await get()).toMatchObject({ clientIdList: ["web", "cli"], thumbprintList: [thumbprint] });
    expect(stored.findIdentityProvider(shop, url)).toEqual({
      accountId: shop,
      arn: openIdConnectProviderArn,
      issuer: url,
      audiences: ["web", "cli"],
    });
    for (let made = 0; made < 2; made += 1) {
      await call("removeClientIDFromOpenIDConnectProvider", { openIdConnectProviderArn, clientId: "web" });
      await call("untagOpenIDConnectProvider", { openIdConnectProviderArn, tagKeys: ["team"] });
    }
    expect(await get()).toMatchObject({ clientIdList: ["cli"], tags: [{ key: "stage", value: "test" }] });
    expect(await call("listOpenIDConnectProviderTags", { openIdConnectProviderArn })).toMatchObject({
      tags: [{ key: "stage", value: "test" }],
      isTruncated: false,
    });
    for (let made = 0; made < 2; made += 1)
      expect(await call("deleteOpenIDConnectProvider", { openIdConnectProviderArn })).toEqual({});
    await expect(get()).rejects.toMatchObject({ facts: { reason: "NO_SUCH_ENTITY" } });
    expect(stored.findIdentityProvider(shop, url)).toBeUndefined();
  });

  test("is listed with declared ones, and is there after a start", async () => {
    const directory = await temporaryDirectory();
    const first = await openIdentity(declared, directory);
    await first.call("createOpenIDConnectProvider", { url, clientIdList: ["web"] });
    expect(await first.call("listOpenIDConnectProviders", {})).toEqual({
      openIdConnectProviderList: [{ arn: openIdConnectProviderArn }, { arn: declaredArn }],
    });
    expect(await first.call("getOpenIDConnectProvider", { openIdConnectProviderArn: declaredArn })).toMatchObject({
      url: "token.example.com",
      clientIdList: ["quartet"],
    });
    await first.close();
    const second = await open(directory);
    expect(second.stored.findIdentityProvider(shop, url)?.audiences).toEqual(["web"]);
    // Only this account's tokens are meant, and only this very issuer.
    expect(second.stored.findIdentityProvider("444455556666", url)).toBeUndefined();
    expect(second.stored.findIdentityProvider(shop, "http://login.example.com/shop")).toBeUndefined();
  });

  test("is found by the tags that policies ask for, and created by whoever may create its ARN", async () => {
    const { call } = await furnished();
    const Condition = { StringEquals: { "aws:ResourceTag/team": "sea" } };
    const statement = { Effect: "Allow", Action: "iam:GetOpenIDConnectProvider", Resource: "*", Condition };
    const ofTeam = userCaller(shop, "bob", [JSON.stringify({ Version: "2012-10-17", Statement: [statement] })]);
    expect(await call("getOpenIDConnectProvider", { openIdConnectProviderArn }, ofTeam)).toMatchObject({ tags: [{}] });
    const creator = userCaller(shop, "ann", [allowing("iam:CreateOpenIDConnectProvider", arnOf("ci.example.com/*"))]);
    const create = (of: string) => call("createOpenIDConnectProvider", { url: of }, creator);
    expect(await create("https://ci.example.com/a")).toMatchObject({
      openIdConnectProviderArn: arnOf("ci.example.com/a"),
    });
    await expect(create("https://other.example.com/a")).rejects.toMatchObject({ facts: { reason: "ACCESS_DENIED" } });
  });

  // the operation, its request, the reason
  test.for<[Name, object, string]>([
    ["createOpenIDConnectProvider", { url: "login.example.com" }, "INVALID_VALUE"],
    ["createOpenIDConnectProvider", { url: "http://login.example.com" }, "INVALID_VALUE"],
    ["createOpenIDConnectProvider", { url: "https://" }, "INVALID_VALUE"],
    ["createOpenIDConnectProvider", { url: "https://login.example.com/a b" }, "INVALID_VALUE"],
    ["createOpenIDConnectProvider", { url: "https://login.example.com?a=1" }, "INVALID_VALUE"],
    ["createOpenIDConnectProvider", { url: "https://login.example.com/#a" }, "INVALID_VALUE"],
    ["createOpenIDConnectProvider", { url: "https://me:secret@login.example.com" }, "INVALID_VALUE"],
    ["createOpenIDConnectProvider", { url: "https://a.example", clientIdList: numbered(101, "c") }, "LIMIT_EXCEEDED"],
    [
      "createOpenIDConnectProvider",
      { url: "https://a.example", thumbprintList: Array.from({ length: 6 }, () => thumbprint) },
      "LIMIT_EXCEEDED",
    ],
    ["createOpenIDConnectProvider", { url }, "ENTITY_EXISTS"],
    ["createOpenIDConnectProvider", { url: "https://LOGIN.example.com/shop" }, "ENTITY_EXISTS"],
    ["createOpenIDConnectProvider", { url: "https://token.example.com" }, "ENTITY_EXISTS"],
    [
      "updateOpenIDConnectProviderThumbprint",
      { openIdConnectProviderArn, thumbprintList: numbered(6, "t") },
      "LIMIT_EXCEEDED",
    ],
    ["getOpenIDConnectProvider", { openIdConnectProviderArn: arnOf("none.example.com") }, "NO_SUCH_ENTITY"],
    ["addClientIDToOpenIDConnectProvider", { openIdConnectProviderArn: declaredArn, clientId: "a" }, "DECLARED_ENTITY"],
    ["deleteOpenIDConnectProvider", { openIdConnectProviderArn: declaredArn }, "DECLARED_ENTITY"],
    [
      "tagOpenIDConnectProvider",
      { openIdConnectProviderArn: declaredArn, tags: [{ key: "a", value: "b" }] },
      "DECLARED_ENTITY",
    ],
    [
      "getOpenIDConnectProvider",
      { openIdConnectProviderArn: "arn:aws:iam::444455556666:oidc-provider/login.example.com/shop" },
      "ACCESS_DENIED",
    ],
  ])("is refused: %s %j", async ([name, request, reason]) => {
    const { call } = await furnished();
    await expect(call(name, request)).rejects.toMatchObject({ facts: { reason } });
  });

  test("is one of 100 of an account, each with 100 client IDs", async () => {
    const { call } = await furnished();
    for (const each of numbered(99, "https://p.example/"))
      await call("createOpenIDConnectProvider", { url: each, clientIdList: numbered(100, "c") });
    const refused = { facts: { reason: "LIMIT_EXCEEDED" } };
    await expect(call("createOpenIDConnectProvider", { url: "https://p.example/more" })).rejects.toMatchObject(refused);
    const last = { openIdConnectProviderArn: arnOf("p.example/0"), clientId: "more" };
    await expect(call("addClientIDToOpenIDConnectProvider", last, root)).rejects.toMatchObject(refused);
  });
});
