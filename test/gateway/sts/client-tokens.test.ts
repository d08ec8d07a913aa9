/** Tokens that the official SDK gets with access keys, shown to services and to the gateway by RPC. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { AssumeRoleCommand, GetWebIdentityTokenCommand, STSClient } from "@aws-sdk/client-sts";
import { ConnectError, createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { EventBusService } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { IdentityService } from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { SecurityTokenService } from "../../../gen/quartet/identity/v1/security_token_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import type { System } from "../../support/system.ts";
import { startSystem } from "../../support/system.ts";
import { allowing } from "./sts.ts";

const account = "000000000000";
const reader = `arn:aws:iam::${account}:role/reader`;
const documentOf = (text: string): object => JSON.parse(text) as object;
const withCondition = (action: string, condition: object) => ({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: action, Resource: "*", Condition: condition }],
});
const user = (name: string, ...policies: object[]) => ({
  name,
  policies,
  accessKeys: [{ id: `QKIA${name.toUpperCase()}`, secret: `${name}'s own secret` }],
});
const keyOf = (name: string) => ({
  accessKeyId: `QKIA${name.toUpperCase()}`,
  secretAccessKey: `${name}'s own secret`,
});
/** More than a token carries. */
const large = Array.from({ length: 12 }, (_, index) =>
  documentOf(allowing("s3:GetObject", `arn:aws:s3:::${"x".repeat(1_000 + index)}`)),
);

let dataDir: string;
let system: System;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "quartet-client-tokens-"));
  const tokens = documentOf(allowing("sts:*"));
  const configuration = {
    accounts: {
      [account]: {
        users: [
          user("alice", tokens, documentOf(allowing("events:ListEventBuses"))),
          user("bob", tokens, ...large, documentOf(allowing("events:ListEventBuses"))),
          user("carol", documentOf(allowing("events:*"))),
          user("dave", tokens, withCondition("events:*", { IpAddress: { "aws:SourceIp": "127.0.0.0/8" } })),
          user("erin", tokens, withCondition("events:*", { IpAddress: { "aws:SourceIp": "192.0.2.0/24" } })),
          user("frank", tokens, withCondition("events:*", { Bool: { "aws:SecureTransport": "true" } })),
        ],
      },
    },
    roles: [
      {
        account,
        name: "reader",
        trustPolicy: {
          Version: "2012-10-17",
          Statement: [{ Effect: "Allow", Principal: { AWS: account }, Action: "sts:AssumeRole" }],
        },
        policies: [tokens, documentOf(allowing("events:*"))],
      },
    ],
  };
  system = await startSystem(dataDir, "error", { configuration });
});
afterAll(async () => {
  await system.stop();
  await rm(dataDir, { recursive: true, force: true });
});

type Credentials = ReturnType<typeof keyOf> & { readonly sessionToken?: string };
const sts = (credentials: Credentials): STSClient => {
  const endpoint = system.installation.gatewayUrl;
  const client = new STSClient({ endpoint, region: "us-east-1", maxAttempts: 1, credentials });
  onTestFinished(() => client.destroy());
  return client;
};
const tokenOf = async (credentials: Credentials, audience: string[], more: object = {}): Promise<string> => {
  const command = new GetWebIdentityTokenCommand({ Audience: audience, SigningAlgorithm: "ES384", ...more });
  return (await sts(credentials).send(command)).WebIdentityToken ?? "";
};

/** Where RPCs are taken: at the service's own port, and at the two of the gateway. */
const places = {
  "the service": () => system.installation.urls("event-bus")["rpc"] ?? "",
  "the gateway by gRPC": () => system.installation.urls("gateway")["grpc"] ?? "",
  "the gateway's main port": () => system.installation.gatewayUrl,
} as const;
const engineOf = (place: keyof typeof places) => (place === "the gateway's main port" ? "connect" : "grpc");
const transportTo = (place: keyof typeof places, token: string) => {
  const transport = createTransport({
    address: places[place](),
    engine: engineOf(place),
    token: async () => token,
  });
  onTestFinished(() => transport.close());
  return transport;
};
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    (error: unknown) => ConnectError.from(error).message.replace(/\].*/s, "").slice(1),
  );
const lists = (place: keyof typeof places, token: string): Promise<string> =>
  codeOf(createClient(EventBusService, transportTo(place, token)).listEventBuses({}));

describe.each(Object.keys(places) as (keyof typeof places)[])("at %s", (place) => {
  // who, the outcome
  test.each([
    ["alice", "ok", "may what policies allow"],
    ["bob", "ok", "has more policies than a token carries"],
    ["dave", "ok", "calls from where it may"],
    ["erin", "permission_denied", "calls from elsewhere"],
    ["frank", "permission_denied", "calls without encryption"],
  ])("%s: %s, %s", async (name, outcome) => {
    expect(await lists(place, await tokenOf(keyOf(name), ["event-bus"]))).toBe(outcome);
  });

  test("a session has a token, which may no more than its session policy", async () => {
    const session = async (policy?: string): Promise<Credentials> => {
      const command = new AssumeRoleCommand({ RoleArn: reader, RoleSessionName: "nightly", Policy: policy });
      const { Credentials: issued } = await sts(keyOf("alice")).send(command);
      return {
        accessKeyId: issued?.AccessKeyId ?? "",
        secretAccessKey: issued?.SecretAccessKey ?? "",
        sessionToken: issued?.SessionToken ?? "",
      };
    };
    expect(await lists(place, await tokenOf(await session(), ["event-bus"]))).toBe("ok");
    const narrow = await session(allowing("sts:*"));
    expect(await lists(place, await tokenOf(narrow, ["event-bus"]))).toBe("permission_denied");
  });

  test("a token for another service is refused", async () => {
    expect(await lists(place, await tokenOf(keyOf("alice"), ["object-storage"]))).toBe("unauthenticated");
  });

  test("a token for the gateway is accepted where the gateway is", async () => {
    const outcome = place === "the service" ? "unauthenticated" : "ok";
    expect(await lists(place, await tokenOf(keyOf("alice"), ["gateway"]))).toBe(outcome);
  });
});

// no token begins what outlives it; the service is the gateway's own
test.each(["the gateway by gRPC", "the gateway's main port"] as const)(
  "at %s who shows a token is known, and gets no credentials",
  async (place) => {
    const token = await tokenOf(keyOf("alice"), ["security-token", "gateway"]);
    const client = createClient(SecurityTokenService, transportTo(place, token));
    expect(await client.getCallerIdentity({})).toMatchObject({ arn: `arn:aws:iam::${account}:user/alice` });
    const asked = { audience: ["event-bus"], signingAlgorithm: "ES384" };
    expect(await codeOf(client.getWebIdentityToken(asked))).toBe("permission_denied");
    expect(await codeOf(client.getSessionToken({}))).toBe("permission_denied");
    expect(await codeOf(client.assumeRole({ roleArn: reader, roleSessionName: "longer" }))).toBe("permission_denied");
  },
);

// the gateway's own two services share a port
test.each([
  ["security-token", "ok", "unauthenticated"],
  ["identity", "unauthenticated", "permission_denied"],
])("a token for %s is refused by the other service of the port", async (audience, ofTokens, ofIdentities) => {
  const token = await tokenOf(keyOf("alice"), [audience]);
  const address = system.installation.urls("gateway")["rpc"] ?? "";
  const transport = createTransport({ address, engine: "grpc", token: async () => token });
  onTestFinished(() => transport.close());
  expect(await codeOf(createClient(SecurityTokenService, transport).getCallerIdentity({}))).toBe(ofTokens);
  expect(await codeOf(createClient(IdentityService, transport).listUsers({}))).toBe(ofIdentities);
});

describe("the SDK is refused", () => {
  // who, the request, the error by its name
  test.each([
    ["who may not", "carol", {}, "AccessDenied"],
    [
      "a foreign audience",
      "alice",
      { Audience: ["https://api.example.com"] },
      "OutboundWebIdentityFederationDisabledException",
    ],
    ["no audience", "alice", { Audience: [] }, "ValidationError"],
    ["RS256", "alice", { SigningAlgorithm: "RS256" }, "ValidationError"],
    ["an unknown algorithm", "alice", { SigningAlgorithm: "HS256" }, "ValidationError"],
    ["59 seconds", "alice", { DurationSeconds: 59 }, "ValidationError"],
    ["more than 15 minutes", "alice", { DurationSeconds: 901 }, "ValidationError"],
    [
      "too many tags",
      "alice",
      {
        Tags: Array.from({ length: 50 }, (_, index) => ({ Key: `${index}`.padEnd(128, "k"), Value: "v".repeat(256) })),
      },
      "JWTPayloadSizeExceededException",
    ],
  ])("%s", async (_what, name, more, error) => {
    await expect(tokenOf(keyOf(name), ["event-bus"], more)).rejects.toMatchObject({ name: error });
  });
});
