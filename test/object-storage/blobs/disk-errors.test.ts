import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, test } from "vitest";

import { openFileBlobStore } from "../../../services/object-storage/blobs/file-blob-store.ts";
import { rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import type { DiskFault, DiskProcess } from "../../kit/store/faulty-disk.ts";
import { countDiskCalls, runWithFault, spread } from "../../kit/store/faulty-disk.ts";
import { canTrace } from "../../kit/store/traced-disk.ts";

const child = fileURLToPath(new URL("faulty-blob-child.ts", import.meta.url));
const blobIds = ["aa01", "aa02", "bb01"];
const sizeBytes = 600_000;

const processOn = (directory: string): DiskProcess => ({
  command: [process.execPath, child, directory, ...blobIds],
  paths: [
    directory,
    ...["temporary", "v2", "v2/aa", "v2/bb"].map((name) => join(directory, name)),
    ...blobIds
      .flatMap((blobId) => [`temporary/${blobId}`, `v2/${blobId.slice(0, 2)}/${blobId}`])
      .map((name) => join(directory, name)),
  ],
});

const idsOf = (lines: readonly string[], end: string): string[] =>
  lines.filter((line) => line.includes(` ${end}`)).map((line) => line.split(" ")[0]!);

/** What a fault does to a store of blobs, which is opened once more on a disk that is well again. */
const afterFault = async (fault: DiskFault) => {
  const directory = join(await temporaryDirectory(), "blobs");
  const { status, lines } = runWithFault(processOn(directory), fault);
  const answered = idsOf(lines, "answered");
  const blobs = await openFileBlobStore({ directory });
  const lost: string[] = [];
  for (const blobId of answered) {
    const pieces = await Array.fromAsync(await blobs.verify(blobId, sizeBytes, true)).catch(() => []);
    if (pieces.reduce((sum, piece) => sum + piece.byteLength, 0) !== sizeBytes) lost.push(blobId);
  }
  await blobs.close();
  const left = readdirSync(join(directory, "v2"), { recursive: true, withFileTypes: true });
  return {
    status,
    lost,
    cut: idsOf(lines, "cut"),
    // What was refused is removed, unless removing is what fails.
    left: left.filter((entry) => entry.isFile() && !answered.includes(entry.name)).map(({ name }) => name),
    answered,
  };
};

describe.skipIf(!canTrace())("blobs whose disk answers EIO (through strace, skipped where that cannot trace)", () => {
  test("are lost by no error, and one error refuses one blob", async () => {
    const counts = await countDiskCalls(processOn(join(await temporaryDirectory(), "blobs")));
    expect(counts.get("fdatasync")).toBe(3);
    const faults = [...counts].flatMap(([call, count]) =>
      spread(count, rounds(2, 1_000)).flatMap((at) => [
        { call, at, isLasting: false },
        { call, at, isLasting: true },
      ]),
    );
    for (const fault of faults) {
      const { answered, left, ...found } = await afterFault(fault);
      const label = `${fault.call} ${fault.at} ${fault.isLasting}`;
      expect({ label, ...found }).toEqual({ label, status: 0, lost: [], cut: [] });
      expect({ label, left: fault.call === "unlink" ? [] : left }).toEqual({ label, left: [] });
      // None where the store cannot be opened.
      expect(fault.isLasting ? [0] : [0, 2, 3]).toContain(fault.isLasting ? 0 : answered.length);
    }
  }, 600_000);
});
