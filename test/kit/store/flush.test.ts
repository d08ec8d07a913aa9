import { expect, onTestFinished, test } from "vitest";

import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { databaseFiles } from "./database-files.ts";
import { notes } from "./tables.ts";

const value = "v".repeat(1024 * 1024);

const put = (store: Store, name: string, text: string): Promise<void> =>
  store.transact((tx) => tx.put(notes, ["alice", name], { value: text }));

test("a flush writes to a table what is in memory, so that the log is empty, if that is 2 MiB or more", async () => {
  const directory = await temporaryDirectory();
  const store = await openStore({ directory });
  onTestFinished(() => store.close());
  await put(store, "1", value);
  await store.flush();
  expect(await databaseFiles(directory)).toEqual({ logBytes: expect.closeTo(value.length, -3), tables: 0 });
  await put(store, "2", value);
  await store.flush();
  expect(await databaseFiles(directory)).toEqual({ logBytes: 0, tables: 1 });
  await put(store, "3", "after it");
  await store.flush();
  expect(await databaseFiles(directory)).toEqual({ logBytes: expect.closeTo(250, -3), tables: 1 });
  expect(
    await store.read(async (reader) =>
      (await reader.list(notes, { prefix: [], limit: 9 })).map(({ value: note }) => note.value.length),
    ),
  ).toEqual([value.length, value.length, 8]);
});

test("writes go on while what was written before is flushed, and all is there after the next start", async () => {
  const directory = await temporaryDirectory();
  const first = await openStore({ directory });
  const writes = Array.from({ length: 12 }, async (_unused, number) => {
    await put(first, `${number}`.padStart(2, "0"), `${number}${value}`);
    await first.flush();
  });
  await Promise.all(writes);
  await first.close();
  const second = await openStore({ directory });
  onTestFinished(() => second.close());
  const names = await second.read(async (reader) =>
    (await reader.list(notes, { prefix: [], limit: 99 })).map(({ key: [, name], value: note }) => [
      name,
      note.value.slice(0, -value.length),
    ]),
  );
  expect(names).toEqual(Array.from({ length: 12 }, (_unused, number) => [`${number}`.padStart(2, "0"), `${number}`]));
});
