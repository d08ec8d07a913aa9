import { expect, test } from "vitest";

import { counts } from "../../../services/object-storage/store/layout.ts";
import { openAmounts } from "../../../services/object-storage/store/stored-amounts.ts";
import { alice, as, put, startWithBucket } from "../harness.ts";
import { amounts, shown } from "../support/amounts.ts";

/*
 *  put a (5)   replace a (3)   copy to b (3)   keep versions   delete b: a marker   put a (4)   delete b's version
 */
test("the stored objects and their bytes are counted, whatever stores and removes them", async () => {
  const harness = await startWithBucket();
  const { client } = harness;
  expect(await amounts(harness)).toEqual(shown(0, 0));
  await put(harness, { bucket: "photos", key: "a" }, "12345");
  await put(harness, { bucket: "photos", key: "a" }, "123");
  expect(await amounts(harness)).toEqual(shown(1, 3));
  await client.copyObject({ bucket: "photos", key: "b", copySource: "photos/a" }, as(alice));
  expect(await amounts(harness)).toEqual(shown(2, 6));
  const versioningConfiguration = { status: "Enabled" };
  await client.putBucketVersioning({ bucket: "photos", versioningConfiguration }, as(alice));
  await client.deleteObject({ bucket: "photos", key: "b" }, as(alice));
  await put(harness, { bucket: "photos", key: "a" }, "1234");
  expect(await amounts(harness)).toEqual(shown(3, 10));
  await client.deleteObject({ bucket: "photos", key: "b", versionId: "null" }, as(alice));
  expect(await amounts(harness)).toEqual(shown(2, 7));
});

test("a database without counts is counted once when it is opened", async () => {
  const harness = await startWithBucket();
  await put(harness, { bucket: "photos", key: "a" }, "12345");
  await put(harness, { bucket: "photos", key: "b" }, "12");
  const { store } = harness.opened.app;
  await store.transact((transaction) => transaction.deleteRange(counts, {}));
  await openAmounts(store);
  await openAmounts(store);
  expect(await amounts(harness)).toEqual(shown(2, 7));
});
