import { join } from "node:path";

import { expect, test } from "vitest";

import { ConnectionAuthorizationType } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import { getConnection } from "../../../services/event-bus/store/connection.ts";
import { addMasterKey } from "../../../services/kit/keyring/master-keys.ts";
import { eventually } from "../../support/eventually.ts";
import { ownerAccount, startHarness } from "../harness.ts";

const basic = {
  name: "shop",
  authorizationType: ConnectionAuthorizationType.BASIC,
  authParameters: { basicAuthParameters: { username: "alice", password: "open-sesame" } },
};

test("after a rotation of the master key the keys of secrets are wrapped again, and the secrets can be read", async () => {
  const { client, app, clock, directory } = await startHarness();
  await client.createConnection(basic);
  const wrappedKey = async () =>
    (await app.store.read((reader) => getConnection(reader, ownerAccount, "shop"))).secret?.wrappedKey ??
    new Uint8Array();
  const before = app.keyring.masterKeyId();
  await addMasterKey(join(directory, "master.keys"));
  await eventually(async () => {
    clock.advance(60_000);
    return app.keyring.masterKeyId() !== before && !app.keyring.isStale(await wrappedKey());
  }, "the secret's key was wrapped again");
  const described = await client.describeConnection({ name: "shop" });
  expect(described.authParameters?.basicAuthParameters?.username).toBe("alice");
});
