import { randomBytes } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import type { DiskSpaceOptions } from "../../../services/kit/store/disk-space.ts";
import { DiskSpace } from "../../../services/kit/store/disk-space.ts";
import { StoreFullError } from "../../../services/kit/store/errors.ts";
import type { Store } from "../../../services/kit/store/store.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { canMount, fillDisk, smallDisk } from "../../support/small-disk.ts";
import { events } from "./tables.ts";

const mebibyte = 1024 * 1024;

const watch = (directory: string, options: Partial<DiskSpaceOptions> = {}) => {
  const { log, lines } = capturingLogger();
  const space = new DiskSpace({
    directory: join(directory, "service"),
    freeBytesMin: 20 * mebibyte,
    freePercentMin: 0,
    ballastBytes: 32 * mebibyte,
    log,
    ...options,
  });
  onTestFinished(() => space.close());
  return { space, lines, isHeld: () => isBallastHeld(directory) };
};

const isBallastHeld = async (directory: string): Promise<boolean> =>
  (await readdir(join(directory, "service"))).includes("ballast");

const openOn = async (directory: string, space: DiskSpace): Promise<Store> => {
  const store = await openStore({ directory: join(directory, "service", "leveldb"), hasRoomFor: space.hasRoomFor });
  onTestFinished(() => store.close());
  return store;
};

const commit = (store: Store, sequence: number, bytes: number): Promise<void> =>
  store.transact((tx) => tx.put(events, ["s", sequence], { value: randomBytes(bytes) }));

describe.skipIf(!canMount())("the room on a disk", () => {
  test("is low below a number of bytes or a share of the disk, whichever is more", async () => {
    const directory = await smallDisk(100);
    const bytes = watch(directory, { freePercentMin: 10 }).space;
    const percent = watch(directory, { freePercentMin: 50 }).space;
    const filling = await fillDisk(directory, 40 * mebibyte);
    await eventually(() => percent.isLow, "less than 50 % is free");
    expect(bytes.isLow).toBe(false);
    await filling.remove();
    await eventually(() => !percent.isLow, "there is room again");
    await fillDisk(directory, 15 * mebibyte);
    await eventually(() => bytes.isLow, "less than 20 MiB is free");
  });

  test("is reserved by a ballast that is released when the disk is full and written again when it is not", async () => {
    const directory = await smallDisk(128);
    const { space, lines, isHeld } = watch(directory);
    space.tend();
    await eventually(isHeld, "the ballast is held");
    expect((await stat(join(directory, "service", "ballast"))).size).toBe(32 * mebibyte);
    const filling = await fillDisk(directory);
    await eventually(() => space.freeBytes >= 32 * mebibyte, "the ballast is released");
    expect(await isHeld()).toBe(false);
    await filling.remove();
    await eventually(isHeld, "the ballast is held again");
    await eventually(() => lines.length === 3, "all is logged");
    expect(lines.map(({ msg }) => msg)).toEqual([
      "the disk is low: only reads and deletions are served",
      "the disk is full: the ballast was released",
      "the disk has room again",
    ]);
  });

  test("lets a database be opened on a full disk, which is refused without a ballast", async () => {
    const directory = await smallDisk(128);
    const first = watch(directory).space;
    first.tend();
    await eventually(() => isBallastHeld(directory), "the ballast is held");
    const store = await openOn(directory, first);
    for (let sequence = 0; sequence < 20; sequence += 1) await commit(store, sequence, 50_000);
    await store.close();
    await first.close();
    await fillDisk(directory);

    await expect(openStore({ directory: join(directory, "service", "leveldb") })).rejects.toThrow(
      "Database failed to open",
    );
    const again = await openOn(directory, watch(directory).space);
    expect(await again.read((reader) => reader.list(events, { limit: 100 }))).toHaveLength(20);
    await again.transact((tx) => tx.deleteRange(events, {}));
    expect(await again.read((reader) => reader.list(events, { limit: 100 }))).toEqual([]);
  });

  test("that is used up has changes refused, loses none, and takes them again without another start", async () => {
    const directory = await smallDisk(128);
    const { space } = watch(directory, { ballastBytes: 0 });
    const store = await openOn(directory, space);
    const filling = await fillDisk(directory, 48 * mebibyte);
    let answered = 0;
    const fill = async (): Promise<void> => {
      for (;;) {
        await commit(store, answered, 200_000);
        answered += 1;
      }
    };
    await expect(fill()).rejects.toThrow(StoreFullError);
    expect(answered).toBeGreaterThan(10);
    const stored = async (): Promise<number[]> =>
      (await store.read((reader) => reader.list(events, { limit: 10_000 }))).map(({ key }) => key[1]);
    expect(await stored()).toEqual(Array.from({ length: answered }, (_, sequence) => sequence));
    await filling.remove();
    await eventually(() => commit(store, answered, 200_000).then(() => true), "changes are taken again");
    expect(await stored()).toHaveLength(answered + 1);
  });
});
