import { join } from "node:path";

import { create } from "@bufbuild/protobuf";
import { expect, onTestFinished, test } from "vitest";

import { PublicAccessBlockRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { openAccountBlocks } from "../../../services/object-storage/store/account-blocks.ts";
import { accountSettings } from "../../../services/object-storage/store/account-settings.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { alice, bob } from "../harness.ts";

const carol = "333333333333";
const ignoring = create(PublicAccessBlockRecordSchema, { ignorePublicAcls: true });
const restricting = create(PublicAccessBlockRecordSchema, { restrictPublicBuckets: true });

const open = async (directory: string) => {
  const store = await openStore({ directory: join(directory, "leveldb"), sync: false });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) await store.close();
    isOpen = false;
  };
  onTestFinished(close);
  const logged: object[] = [];
  const log = { error: (facts: object) => void logged.push(facts) } as never;
  return { blocks: await openAccountBlocks(store, log), logged, close };
};

test("puts of an account at the same time leave the last one, in memory and after a restart", async () => {
  const directory = await temporaryDirectory();
  const first = await open(directory);
  await Promise.all([ignoring, undefined, ignoring, restricting].map((block) => first.blocks.put(alice, block)));
  expect(first.blocks.find(alice)).toBe(restricting);
  await Promise.all([ignoring, undefined].map((block) => first.blocks.put(bob, block)));
  expect(first.blocks.find(bob)).toBeUndefined();
  await first.close();
  const { blocks, logged } = await open(directory);
  expect(blocks.find(alice)).toMatchObject({ restrictPublicBuckets: true, ignorePublicAcls: false });
  expect([blocks.find(bob), logged]).toEqual([undefined, []]);
});

test("an account whose record is damaged blocks everything until it is put again, and others what they did", async () => {
  const directory = await temporaryDirectory();
  const first = await open(directory);
  for (const account of [alice, bob, carol]) await first.blocks.put(account, ignoring);
  await first.close();
  await damageStoredRecord(directory, accountSettings, [bob]);
  const { blocks, logged } = await open(directory);
  const all = { blockPublicAcls: true, ignorePublicAcls: true, blockPublicPolicy: true, restrictPublicBuckets: true };
  expect(blocks.find(bob)).toMatchObject(all);
  expect([alice, carol].map((account) => blocks.find(account)?.restrictPublicBuckets)).toEqual([false, false]);
  expect(logged).toEqual([{ accountId: bob }]);
  await blocks.put(bob, restricting);
  expect(blocks.find(bob)).toBe(restricting);
});
