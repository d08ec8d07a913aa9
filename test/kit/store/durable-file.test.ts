import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { createDurable, DurableFile, readDurable } from "../../../services/kit/store/durable-file.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const group = (number: number) => ({ number, timeMs: 1_900_000_000_000 + number });

/** A file to which groups 1 to 3 were written. */
const written = async (): Promise<string> => {
  const directory = await temporaryDirectory();
  await createDurable(directory, group(0), false);
  const file = await DurableFile.open(directory);
  for (const number of [1, 2, 3]) file.write(group(number));
  await file.sync();
  file.close();
  return directory;
};

test("the durable file holds the group that was written last, also after it is opened again", async () => {
  const directory = await written();
  expect(await readDurable(directory)).toEqual(group(3));
  const file = await DurableFile.open(directory);
  file.write(group(4));
  file.close();
  expect(await readDurable(directory)).toEqual(group(4));
});

test("the durable file is laid out as documented", async () => {
  const file = await readFile(join(await written(), "durable"));
  const slots = [file.subarray(0, 28), file.subarray(512, 540)].map((slot) => slot.toString("hex"));
  expect([file.byteLength, ...slots]).toEqual([
    1024,
    "71756172746574310000000000000002000001ba60d33802db1f6c6c",
    "71756172746574310000000000000003000001ba60d33803bb6348b9",
  ]);
});

test.each([
  // what is damaged      what is read
  [[], group(3)],
  [["newest slot"], group(2)],
  [["older slot"], group(3)],
  [["newest slot", "older slot"], "damaged"],
])("with damage to %j, what is read is %j", async (damaged, expected) => {
  const directory = await written();
  const path = join(directory, "durable");
  const file = await readFile(path);
  const offsets: Readonly<Record<string, number>> = { "newest slot": 521, "older slot": 9 };
  for (const slot of damaged) file.writeUInt8(0xff, offsets[slot] ?? 0);
  await writeFile(path, file);
  expect(await readDurable(directory)).toEqual(expected);
});

test("a durable file that does not exist is missing, and a cut one damaged", async () => {
  const directory = await temporaryDirectory();
  expect(await readDurable(directory)).toBe("missing");
  await writeFile(join(directory, "durable"), "quartet1");
  expect(await readDurable(directory)).toBe("damaged");
});
