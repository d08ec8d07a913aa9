import { join } from "node:path";

import type { Message } from "@bufbuild/protobuf";
import { expect } from "vitest";

import { addMasterKey } from "../../../services/kit/keyring/master-keys.ts";
import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { eventually } from "../../support/eventually.ts";
import { bytesOfFiles } from "../database.ts";
import type { startHarness } from "../harness.ts";

/** Rotates the master key, and waits until a table's first key is wrapped with it and its older form left the files. */
export const expectRewrapped = async (
  { store, clock, directory }: Pick<Awaited<ReturnType<typeof startHarness>>, "store" | "clock" | "directory">,
  table: Table<KeyTuple, Message & { readonly key: Uint8Array }>,
): Promise<void> => {
  const stored = async () => (await store.read((reader) => reader.list(table, { limit: 1 })))[0]?.value.key;
  const before = Buffer.from((await stored()) ?? []);
  await addMasterKey(join(directory, "master.keys"));
  const holdsBefore = async () => (await bytesOfFiles(join(directory, "leveldb"))).includes(before.subarray(-48));
  expect(await holdsBefore()).toBe(true);
  await eventually(async () => {
    clock.advance(60_000);
    return !(await holdsBefore());
  }, "the key was wrapped again");
  expect(before.equals((await stored()) ?? before)).toBe(false);
};
