import { expect, onTestFinished, test, vi } from "vitest";

import type { RawEntry } from "../../../services/kit/store/engine.ts";
import { KnownTables } from "../../../services/kit/store/known-tables.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { put } from "./note-keeping.ts";
import { notes } from "./tables.ts";

const prefix = "\u0000\u000a";
const other = "\u0000\u000b";
const never = new AbortController().signal;

/** A database of these keys, in which a write and readers can be held up. */
const database = (keys: string[]) => {
  const writing = Promise.withResolvers<void>();
  const readers = Promise.withResolvers<void>();
  const scanned = vi.fn<(low: string) => void>();
  const source = {
    written: () => writing.promise,
    snapshotsClosed: () => readers.promise,
    snapshot: () => ({
      get: () => undefined,
      close: () => undefined,
      async *scan({ low, high }: { low: string; high: string }): AsyncGenerator<readonly RawEntry[], void> {
        scanned(low);
        yield keys
          .filter((key) => key >= low && key < high)
          .slice(0, 2)
          .map((key) => ({ key, payload: new Uint8Array() }));
      },
    }),
  };
  return { source, scanned, endWrite: () => writing.resolve(), endReaders: () => readers.resolve() };
};

test("of a table whose keys were all read, the others are absent", async () => {
  const tables = new KnownTables();
  const { source, scanned, endWrite, endReaders } = database([`${prefix}a`, `${prefix}b`, `${prefix}c`, `${other}a`]);
  endWrite();
  endReaders();
  await tables.know(prefix, source, never);
  expect(scanned.mock.calls).toEqual([[prefix], [`${prefix}b\u0000`], [`${prefix}c\u0000`]]);
  expect(["a", "b", "c", "d"].map((key) => tables.isAbsent(prefix + key))).toEqual([false, false, false, true]);
  expect(tables.isAbsent(`${other}d`)).toBe(false);
});

test("keys that are written while the others are read, or later, are not absent; deleted ones may be there", async () => {
  const tables = new KnownTables();
  const { source, endWrite, endReaders } = database([]);
  endWrite();
  endReaders();
  const known = tables.know(prefix, source, never);
  tables.note(new Map([[`${prefix}a`, new Uint8Array()]]));
  await known;
  tables.note(
    new Map([
      [`${prefix}b`, new Uint8Array()],
      [`${prefix}a`, undefined],
      [`${prefix}c`, undefined],
    ]),
  );
  expect(["a", "b", "c"].map((key) => tables.isAbsent(prefix + key))).toEqual([false, false, true]);
});

test("keys are read after what was being written, whose keys nobody noted", async () => {
  const tables = new KnownTables();
  const keys: string[] = [];
  const { source, scanned, endWrite, endReaders } = database(keys);
  endReaders();
  const known = tables.know(prefix, source, never);
  await new Promise(setImmediate);
  expect(scanned).not.toHaveBeenCalled();
  keys.push(`${prefix}a`);
  endWrite();
  await known;
  expect(["a", "b"].map((key) => tables.isAbsent(prefix + key))).toEqual([false, true]);
});

test("nothing is absent as long as readers may see what was deleted before its key was read", async () => {
  const tables = new KnownTables();
  const { source, scanned, endWrite, endReaders } = database([]);
  endWrite();
  const known = tables.know(prefix, source, never);
  await vi.waitFor(() => expect(scanned).toHaveBeenCalled());
  await new Promise(setImmediate);
  expect(tables.isAbsent(`${prefix}a`)).toBe(false);
  endReaders();
  await known;
  expect(tables.isAbsent(`${prefix}a`)).toBe(true);
});

test("a table is read again after a start, and a store closes while it is read", async () => {
  const directory = await temporaryDirectory();
  const first = await openStore({ directory, sync: false });
  const written = Array.from({ length: 2_500 }, (_none, at): [string, string, string] => [
    "alice",
    `note ${at}`,
    "text",
  ]);
  await put(first, ...written);
  await first.close();
  const second = await openStore({ directory, sync: false });
  const known = second.knowKeys(notes);
  await second.close();
  await known;
  const third = await openStore({ directory, sync: false });
  onTestFinished(() => third.close());
  await third.knowKeys(notes);
  const found = await third.read(async (reader) => {
    const titles = ["note 0", "note 1200", "note 2499", "note 2500"];
    return Promise.all(titles.map(async (title) => (await reader.get(notes, ["alice", title]))?.value));
  });
  expect(found).toEqual(["text", "text", "text", undefined]);
});
