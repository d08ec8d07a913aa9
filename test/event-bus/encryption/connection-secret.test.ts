import { rename } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import {
  ConnectionAuthorizationType,
  ConnectionOAuthHttpMethod,
  ConnectionState,
} from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import { getConnection } from "../../../services/event-bus/store/connection.ts";
import { changingKeys } from "../../support/changing-keys.ts";
import { openShop } from "../delivery/shop.ts";
import { ownerAccount, refusalOf, startHarness } from "../harness.ts";

const basic = {
  name: "shop",
  authorizationType: ConnectionAuthorizationType.BASIC,
  authParameters: { basicAuthParameters: { username: "alice", password: "open-sesame" } },
};
const crm = { id: "crm", aliases: ["alias/crm"] };

const startWithKeys = async () => {
  const keys = changingKeys();
  keys.declare(crm, { id: "old", state: "DISABLED" }, { id: "going", state: "PENDING_DELETION" });
  return { ...(await startHarness({ keyNames: keys.names })), keys };
};

describe("a connection's named key", () => {
  // key, refusal
  test.each([
    ["alias/none", "ENCRYPTION_KEY_NOT_FOUND: Encryption key alias/none does not exist."],
    ["old", "ENCRYPTION_KEY_DISABLED: Encryption key old is disabled."],
    ["going", "ENCRYPTION_KEY_PENDING_DELETION: Encryption key going is pending deletion."],
  ])("cannot be %s", async (kmsKeyIdentifier, refusal) => {
    const { client } = await startWithKeys();
    expect(await refusalOf(client.createConnection({ ...basic, kmsKeyIdentifier }))).toBe(refusal);
    await client.createConnection({ ...basic, kmsKeyIdentifier: "alias/crm" });
    expect(await refusalOf(client.updateConnection({ name: "shop", kmsKeyIdentifier }))).toBe(refusal);
    expect((await client.describeConnection({ name: "shop" })).kmsKeyIdentifier).toBe("alias/crm");
  });

  test("that was exchanged is not needed any more", async () => {
    const { client, keys } = await startWithKeys();
    await client.createConnection({ ...basic, kmsKeyIdentifier: "alias/crm" });
    await client.updateConnection({ name: "shop", kmsKeyIdentifier: "" });
    keys.declare();
    const described = await client.describeConnection({ name: "shop" });
    expect(described.authParameters?.basicAuthParameters?.username).toBe("alice");
  });

  test("that is disabled lets deliveries wait until it is enabled", async () => {
    const { client, app, clock, keys, deadLetters } = await startWithKeys();
    const shop = await openShop(client, { connection: { kmsKeyIdentifier: "crm" } });
    keys.declare({ ...crm, state: "DISABLED" });
    expect(await refusalOf(client.describeConnection({ name: "shop" }))).toBe(
      "ENCRYPTION_KEY_DISABLED: Encryption key crm is disabled.",
    );
    await shop.sell({ n: 1 });
    await app.jobs.idle();
    expect(shop.till.received).toHaveLength(0);
    keys.declare(crm);
    clock.advance(1_000);
    await app.jobs.idle();
    expect([shop.till.received.length, (await deadLetters()).length]).toEqual([1, 0]);
  });

  test("that is disabled lets a connection wait for its authorization", async () => {
    const keys = changingKeys();
    keys.declare(crm);
    const { client, clock, directory, stop } = await startHarness({ keyNames: keys.names, works: false });
    const oauth = {
      name: "shop",
      kmsKeyIdentifier: "crm",
      authorizationType: ConnectionAuthorizationType.OAUTH_CLIENT_CREDENTIALS,
      authParameters: {
        oAuthParameters: {
          clientParameters: { clientId: "client-1", clientSecret: "client-secret" },
          authorizationEndpoint: "http://127.0.0.1:1/token",
          httpMethod: ConnectionOAuthHttpMethod.POST,
        },
      },
    };
    await client.createConnection(oauth);
    await stop();
    keys.declare({ ...crm, state: "DISABLED" });
    const { app } = await startHarness({ directory, clock, keyNames: keys.names });
    for (let minutes = 0; minutes < 10; minutes += 1) {
      await app.jobs.idle();
      clock.advance(60_000);
    }
    const { state } = await app.store.read((reader) => getConnection(reader, ownerAccount, "shop"));
    expect(state).toBe(ConnectionState.AUTHORIZING);
  });
});

test("the service does not start without its master keys when a connection has a secret", async () => {
  const { client, directory, clock, stop } = await startHarness();
  await client.createConnection({ ...basic, name: "first" });
  await client.deauthorizeConnection({ name: "first" });
  await client.createConnection(basic);
  await stop();
  await rename(join(directory, "master.keys"), join(directory, "aside.keys"));
  await expect(startHarness({ directory, clock })).rejects.toThrow("is missing; without it stored data cannot be read");
});
