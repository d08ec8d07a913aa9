import { Level } from "level";
import { expect, onTestFinished, test } from "vitest";

import { SharedSnapshots } from "../../../services/kit/store/shared-snapshots.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const openDatabase = async (): Promise<Level<Buffer, Buffer>> => {
  const database = new Level<Buffer, Buffer>(await temporaryDirectory(), {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
  });
  await database.open();
  onTestFinished(() => database.close());
  return database;
};

const key = Buffer.from("key");

/** What a snapshot has at the key. */
const valueIn = async (
  database: Level<Buffer, Buffer>,
  snapshot: ReturnType<Level["snapshot"]>,
): Promise<string | undefined> => (await database.get(key, { snapshot }))?.toString();

test("readers share a snapshot until the database changes", async () => {
  const database = await openDatabase();
  const snapshots = new SharedSnapshots(database);
  await database.put(key, Buffer.from("old"));
  const first = snapshots.current;
  expect(snapshots.current).toBe(first);

  first.use();
  await database.put(key, Buffer.from("new"));
  snapshots.renew();
  const second = snapshots.current;
  expect(second).not.toBe(first);
  expect(await valueIn(database, first.snapshot)).toBe("old");
  expect(await valueIn(database, second.snapshot)).toBe("new");
  await first.release();
});

test("a snapshot that was replaced is closed when its last reader is done", async () => {
  const database = await openDatabase();
  const snapshots = new SharedSnapshots(database);
  const { current } = snapshots;
  current.use();
  current.use();
  let isClosed = false;
  void current.closed.then(() => (isClosed = true));

  snapshots.renew();
  await current.release();
  expect(isClosed).toBe(false);
  expect(await valueIn(database, current.snapshot)).toBeUndefined();

  await current.release();
  await current.closed;
  await expect(database.get(key, { snapshot: current.snapshot })).rejects.toThrow("Snapshot is not open");
});

test("whoever waits for the open snapshots does not wait for later ones", async () => {
  const database = await openDatabase();
  const snapshots = new SharedSnapshots(database);
  const first = snapshots.current;
  first.use();
  let isOver = false;
  const closed = snapshots.closed().then(() => (isOver = true));

  const second = snapshots.current;
  second.use();
  expect(second).not.toBe(first);
  expect(isOver).toBe(false);

  await first.release();
  await closed;
  expect(await valueIn(database, second.snapshot)).toBeUndefined();
  await second.release();
});
