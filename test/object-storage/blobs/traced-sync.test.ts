import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, test } from "vitest";

import { canTrace, stepsOf, traceCalls } from "../../kit/store/traced-disk.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const child = fileURLToPath(new URL("blob-child.ts", import.meta.url));

describe.skipIf(!canTrace())(
  "a blob whose write has ended (seen through strace, skipped where that cannot trace)",
  () => {
    test("was synced before it got its name, and its name before the write ended", async () => {
      const scratch = await temporaryDirectory();
      const directory = join(scratch, "blobs");
      const calls = traceCalls([process.execPath, child, directory, "aa01", "aa02", "bb01"], join(scratch, "calls"));
      const below = (path: string): string => (path === scratch ? "parent" : path.slice(directory.length + 1));
      const steps = stepsOf(calls)
        .filter(({ name, path }) => name === "write" || path === scratch || path.startsWith(directory))
        .map(({ name, path, text }) => `${name} ${name === "write" ? text : below(path)}`.trim());

      const first = steps.findIndex((step) => step.includes("aa01"));
      // The directories of the store, each name synced before there is any blob.
      expect(steps.slice(0, first)).toEqual(["fsync", "fsync parent", "fsync"]);
      expect(steps.slice(first)).toEqual([
        "fdatasync temporary/aa01",
        "fsync v2",
        "rename temporary/aa01",
        "fsync v2/aa",
        "write aa01",
        "fdatasync temporary/aa02",
        "rename temporary/aa02",
        "fsync v2/aa",
        "write aa02",
        "fdatasync temporary/bb01",
        "fsync v2",
        "rename temporary/bb01",
        "fsync v2/bb",
        "write bb01",
      ]);
    });
  },
);
