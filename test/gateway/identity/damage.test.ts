import { expect, onTestFinished, test } from "vitest";

import { accessKeys, dataKeys } from "../../../gateway/identity/store/layout.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { openIdentity, shop } from "./identity.ts";

type Opened = Awaited<ReturnType<typeof openIdentity>>;

/** A new access key of a user. */
const addKey = async ({ call }: Opened, userName: string) => {
  await call("createUser", { userName });
  const { accessKey } = await call("createAccessKey", { userName });
  return accessKey as { readonly accessKeyId: string; readonly secretAccessKey: string };
};

const start = async (directory: string): Promise<Opened> => {
  const opened = await openIdentity({}, directory);
  onTestFinished(opened.close);
  return opened;
};

test("a damaged data key is followed by another one: its access keys are lost, new ones and those of later starts are not", async () => {
  const directory = await temporaryDirectory();
  const first = await openIdentity({}, directory);
  const lost = await addKey(first, "ada");
  await first.close();
  await damageStoredRecord(directory, dataKeys, ["secrets"]);
  await damageStoredRecord(directory, dataKeys, ["sessions"]);

  const second = await openIdentity({}, directory);
  const secretIn = ({ stored }: Opened, id: string) => stored.findAccessKey(id)?.secretAccessKey;
  expect(secretIn(second, lost.accessKeyId)).toBeUndefined();
  const made = await addKey(second, "bob");
  expect(secretIn(second, made.accessKeyId)).toBe(made.secretAccessKey);
  await second.close();

  const third = await openIdentity({}, directory);
  expect(secretIn(third, made.accessKeyId)).toBe(made.secretAccessKey);
  await third.close();
  // The same bit again: the record is as it was.
  await damageStoredRecord(directory, dataKeys, ["secrets"]);
  const fourth = await start(directory);
  expect(secretIn(fourth, lost.accessKeyId)).toBe(lost.secretAccessKey);
  expect(secretIn(fourth, made.accessKeyId)).toBe(made.secretAccessKey);
});

test("an access key whose secret cannot be opened is unknown, and no other", async () => {
  const directory = await temporaryDirectory();
  const first = await openIdentity({}, directory);
  const [lost, kept] = [await addKey(first, "ada"), await addKey(first, "bob")];
  await first.close();
  const store = await openStore({ directory: `${directory}/leveldb`, sync: false });
  await store.transact(async (transaction) => {
    const all = await transaction.list(accessKeys, { prefix: [shop], limit: 9 });
    for (const { key, value } of all)
      if (value.userName === "ada") transaction.put(accessKeys, key, { ...value, sealedSecret: new Uint8Array(60) });
  });
  await store.close();
  const { stored } = await start(directory);
  expect(stored.findAccessKey(lost.accessKeyId)).toBeUndefined();
  expect(stored.findAccessKey(kept.accessKeyId)?.secretAccessKey).toBe(kept.secretAccessKey);
});
