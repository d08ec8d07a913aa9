import { createSecretKey, generateKeyPairSync } from "node:crypto";

import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";

import { AccessKeyRecordSchema, PolicyRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { ReplicationService } from "../../../gen/quartet/identity/v1/replication_service_pb.ts";
import type { Change } from "../../../gateway/identity/domain/account-state.ts";
import { followIdentities } from "../../../gateway/identity/follower.ts";
import { replicationService } from "../../../gateway/identity/replication.ts";
import { storedDirectory } from "../../../gateway/identity/stored-directory.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { bearerAuthenticate } from "../../../services/kit/identity/authenticate.ts";
import { createMinter, createVerifier } from "../../../services/kit/identity/tokens.ts";
import { startServer } from "../../../services/kit/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { openIdentity, root, shop } from "./identity.ts";

/** A gateway that keeps identities, and one that follows it. */
const start = async () => {
  const keeper = await openIdentity();
  onTestFinished(keeper.close);
  const keys = generateKeyPairSync("ed25519");
  const clock = new FakeClock();
  const verifier = createVerifier({ publicKeys: new Map([["gateway", keys.publicKey]]), clock, audience: "identity" });
  const server = await startServer({
    name: "gateway",
    listen: { host: "127.0.0.1", port: 0 },
    services: [
      replicationService({
        identities: keeper.identities,
        sessionKey: createSecretKey(Buffer.alloc(32, 5)),
        clock: new FakeClock(),
      }),
    ],
    authenticate: bearerAuthenticate(verifier, {
      gateway: { anyCaller: true, preauthorizedFor: ["WatchIdentities"] },
    }),
    log: silentLogger,
  });
  onTestFinished(() => server.stop(0));
  const transport = createTransport({ address: server.url, engine: "connect" });
  onTestFinished(() => transport.close());
  const minter = createMinter({ keyPair: { name: "gateway", ...keys }, clock });
  return { keeper, server, transport, minter, clock };
};

test("a gateway that follows knows keys, their changes and the key of session tokens", async () => {
  const { keeper, transport, minter, clock, server } = await start();
  await keeper.call("createUser", { userName: "alice" });
  const created = (await keeper.call("createAccessKey", { userName: "alice" }))["accessKey"];
  const { accessKeyId, secretAccessKey } = created as { accessKeyId: string; secretAccessKey: string };
  const followed = followIdentities({ transport, minter, clock, log: silentLogger });
  onTestFinished(() => followed.stop());
  const directory = storedDirectory(followed, () => "canonical");
  expect(() => directory.findAccessKey(accessKeyId)).toThrow("Please reduce your request rate.");
  await eventually(() => followed.sessionKeys().length > 0, "the beginning");
  expect(directory.findAccessKey(accessKeyId)).toMatchObject({ secretAccessKey, user: "alice", accountId: shop });
  expect(followed.sessionKeys().map((key) => key.export())).toEqual([Buffer.alloc(32, 5)]);
  await keeper.call("deleteAccessKey", { userName: "alice", accessKeyId });
  await eventually(() => directory.findAccessKey(accessKeyId) === undefined, "the deletion");

  await server.stop(3_600_000);
  clock.advance(29_999);
  expect(directory.findAccessKey(accessKeyId)).toBeUndefined();
  clock.advance(1);
  expect(() => directory.findAccessKey(accessKeyId)).toThrow("Please reduce your request rate.");
});

test("a right that is taken away is lost at a gateway that follows by the change itself, whatever its clock", async () => {
  const { keeper, transport, minter, clock } = await start();
  await keeper.call("createUser", { userName: "gwen" });
  const policyDocument = '{"Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}';
  await keeper.call("putUserPolicy", { userName: "gwen", policyName: "own", policyDocument });
  const created = (await keeper.call("createAccessKey", { userName: "gwen" }))["accessKey"];
  const { accessKeyId } = created as { accessKeyId: string };
  const followed = followIdentities({ transport, minter, clock, log: silentLogger });
  onTestFinished(() => followed.stop());
  await followed.awaitFirst(5_000);
  const directory = storedDirectory(followed, () => "canonical");
  expect(directory.findAccessKey(accessKeyId)?.policies).toEqual([policyDocument]);
  const startMs = clock.now();
  await keeper.call("deleteUserPolicy", { userName: "gwen", policyName: "own" });
  await eventually(() => directory.findAccessKey(accessKeyId)?.policies.length === 0, "the right is lost");
  expect(clock.now() - startMs).toBe(0);
});

test("a boundary counts at a gateway that follows, and so does a change of its policy", async () => {
  const { keeper, transport, minter, clock } = await start();
  const policyOf = (action: string) => `{"Statement":[{"Effect":"Allow","Action":"${action}","Resource":"*"}]}`;
  await keeper.call("createPolicy", { policyName: "limit", policyDocument: policyOf("s3:One") });
  const limit = "arn:aws:iam::111122223333:policy/limit";
  await keeper.call("createUser", { userName: "gwen", permissionsBoundary: limit });
  const created = (await keeper.call("createAccessKey", { userName: "gwen" }))["accessKey"];
  const { accessKeyId } = created as { accessKeyId: string };
  const followed = followIdentities({ transport, minter, clock, log: silentLogger });
  onTestFinished(() => followed.stop());
  await followed.awaitFirst(5_000);
  const directory = storedDirectory(followed, () => "canonical");
  const boundary = () => directory.findAccessKey(accessKeyId)?.permissionsBoundary;
  expect(boundary()).toBe(policyOf("s3:One"));
  const policyDocument = policyOf("s3:Two");
  await keeper.call("createPolicyVersion", { policyArn: limit, policyDocument, setAsDefault: true });
  await eventually(() => boundary() === policyDocument, "the new version counts");
  await keeper.call("deleteUserPermissionsBoundary", { userName: "gwen" });
  await eventually(() => boundary() === undefined, "the boundary is gone");
});

test("a gateway that starts waits for the identities, but no longer than its limit", async () => {
  const { keeper, transport, minter, clock, server } = await start();
  await keeper.call("createUser", { userName: "alice" });
  const followed = followIdentities({ transport, minter, clock, log: silentLogger });
  onTestFinished(() => followed.stop());
  await followed.awaitFirst(5_000);
  expect(followed.sessionKeys()).toHaveLength(1);

  await server.stop(0);
  const alone = followIdentities({ transport, minter, clock, log: silentLogger });
  onTestFinished(() => alone.stop());
  const waited = alone.awaitFirst(5_000);
  clock.advance(5_000);
  await waited;
  expect(() => alone.accountIds()).toThrow("Please reduce your request rate.");
});

test("nobody but a gateway may follow", async () => {
  const { transport, minter } = await start();
  const headers = { authorization: `Bearer ${await minter.mint(root, "identity")}` };
  const messages = createClient(ReplicationService, transport).watchIdentities({}, { headers });
  await expect(messages[Symbol.asyncIterator]().next()).rejects.toThrow("not authorized to perform: WatchIdentities");
});

test("a gateway that follows receives policies that are too large together for one message", async () => {
  const { keeper, transport, minter, clock } = await start();
  const change = (prefix: string): Promise<unknown> =>
    keeper.identities.change(shop, () => {
      const document = " ".repeat(512 * 1024);
      const changes = Array.from({ length: 34 }, (_none, index): Change => {
        const name = `${prefix}${index}`;
        return { kind: "policy", name, record: create(PolicyRecordSchema, { name, versions: [{ document }] }) };
      });
      return { changes, result: undefined };
    });
  await change("before-");
  const followed = followIdentities({ transport, minter, clock, log: silentLogger });
  onTestFinished(() => followed.stop());
  await eventually(() => followed.sessionKeys().length > 0, "the beginning");
  expect(followed.state(shop).policy.size).toBe(34);
  await change("after-");
  await eventually(() => followed.state(shop).policy.size === 68, "the change");
});

test("an access key whose secret is damaged holds up no gateway that follows, and is unknown to it", async () => {
  const { keeper, transport, minter, clock } = await start();
  const record = create(AccessKeyRecordSchema, { isActive: true, sealedSecret: new Uint8Array(60) });
  await keeper.identities.change(shop, () => ({
    changes: [{ kind: "accessKey", name: "AKIADAMAGED", record } satisfies Change],
    result: undefined,
  }));
  await keeper.call("createUser", { userName: "alice" });
  const followed = followIdentities({ transport, minter, clock, log: silentLogger });
  onTestFinished(() => followed.stop());
  await eventually(() => followed.sessionKeys().length > 0, "the beginning");
  expect([...followed.state(shop).user.keys()]).toEqual(["alice"]);
  expect(storedDirectory(followed, () => "canonical").findAccessKey("AKIADAMAGED")).toBeUndefined();
});
