import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { encodeGroupMark, groupKey } from "../../../../services/kit/store/group-mark.ts";
import { messageOfDamage } from "../../../../services/kit/store/level-files/file-damage.ts";
import { inspectFiles } from "../../../../services/kit/store/level-files/inspection.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";
import { blockOf, edits, internalKey, physicalRecord, prefixed, tableOf } from "./written-files.ts";

const mark = encodeGroupMark({ number: 7, timeMs: 1_000 });
const marked = (value: Buffer): Buffer => tableOf(blockOf([[internalKey(groupKey.toString("latin1")), value]]));
const whole = marked(mark);

const flipped = (file: Buffer, at: number): Buffer => {
  const changed = Buffer.from(file);
  changed[at] = changed[at]! ^ 1;
  return changed;
};

/** A batch of LevelDB that writes the mark of a group. */
const batch = (value: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from("010000000000000001000000", "hex"),
    Buffer.from([1]),
    prefixed(groupKey),
    prefixed(value),
  ]);

const begin = [
  edits.comparator,
  edits.number("logNumber", 3),
  edits.number("nextFileNumber", 6),
  edits.number("lastSequence", 9),
];
const added = edits.added(0, 5, groupKey.toString("latin1"), groupKey.toString("latin1"), whole.byteLength);

/** What is found in a database of a manifest, a log of one record and a table with the mark of group 7. */
const inspected = async (files: { manifest?: readonly Buffer[]; current?: string; log?: Buffer; table?: Buffer }) => {
  const { manifest = [...begin, added], current = "MANIFEST-000004\n", log = batch(mark), table = whole } = files;
  const directory = await temporaryDirectory();
  await writeFile(join(directory, "CURRENT"), current);
  await writeFile(join(directory, "MANIFEST-000004"), physicalRecord(Buffer.concat(manifest)));
  await writeFile(join(directory, "000003.log"), physicalRecord(log));
  await writeFile(join(directory, "000005.ldb"), table);
  const { damages, flushed, logged } = await inspectFiles(directory, Number.MAX_SAFE_INTEGER);
  const found = damages.map(({ file, detail, isSurvivable }) => `${isSurvivable ? "" : "fatal: "}${file} ${detail}`);
  return [found, flushed?.number, logged.map(({ number }) => number)];
};

const inTable = `it holds keys ${groupKey.toString("hex")} to ${groupKey.toString("hex")}`;

test.each([
  // what, the files, the damages, the group in the table, the groups in the log
  ["nothing", {}, [], 7, [7]],
  [
    "a log without a batch",
    { log: Buffer.alloc(3) },
    ["000003.log the batch at 0 is malformed: the bytes are cut off"],
    7,
    [],
  ],
  [
    "a mark that is cut off",
    { log: batch(mark.subarray(1)) },
    [expect.stringMatching(/^000003\.log the batch at 0 is malformed: .*out of range/)],
    7,
    [],
  ],
  [
    "a mark in a table that is too short, as the checksums say",
    {
      table: marked(mark.subarray(8)),
      manifest: [
        ...begin,
        edits.added(
          0,
          5,
          groupKey.toString("latin1"),
          groupKey.toString("latin1"),
          marked(mark.subarray(8)).byteLength,
        ),
      ],
    },
    [expect.stringMatching(/^fatal: 000005\.ldb the mark of its newest group is malformed: .*out of range/)],
    undefined,
    [7],
  ],
  [
    "a manifest that lacks a number",
    { manifest: begin.slice(0, 3) },
    ["fatal: MANIFEST-000004 the manifest has no lastSequence"],
    undefined,
    [],
  ],
  [
    "a name that is no manifest's",
    { current: "MANIFEST-000009\n" },
    ["fatal: CURRENT does not name a manifest of the directory, which has MANIFEST-000004"],
    undefined,
    [],
  ],
  [
    "a table whose mark was changed",
    { table: flipped(whole, 3) },
    [`000005.ldb the block at 0 does not have its checksum; ${inTable}`],
    undefined,
    [7],
  ],
] as const)("a database has %s that is not as it was written", async (_what, files, damages, flushed, logged) => {
  expect(await inspected(files)).toEqual([damages, flushed, logged]);
});

test("an error of the program is no damage of a file", () => {
  expect(messageOfDamage(new RangeError("the bytes are cut off"))).toBe("the bytes are cut off");
  expect(() => messageOfDamage(new TypeError("not a function"))).toThrow(TypeError);
});
