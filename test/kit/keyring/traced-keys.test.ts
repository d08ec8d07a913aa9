import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, test } from "vitest";

import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { canTrace, stepsOf, traceCalls } from "../store/traced-disk.ts";

const child = fileURLToPath(new URL("key-child.ts", import.meta.url));

describe.skipIf(!canTrace())(
  "a master key that may be used (seen through strace, skipped where that cannot trace)",
  () => {
    test("is durable, with the name of its file, whoever wrote it", async () => {
      const scratch = await temporaryDirectory();
      const directory = join(scratch, "keys");
      const path = join(directory, "master.keys");
      const stepsFor = (...steps: string[]): string[] =>
        stepsOf(traceCalls([process.execPath, child, path, ...steps], join(scratch, "calls")))
          .filter(({ name, path: where }) => name === "write" || where.startsWith(directory))
          .map(({ name, path: where, text }) =>
            `${name} ${name === "write" ? text : where.slice(directory.length + 1)}`
              .replace(/\.\d+\.[0-9a-f]+\.tmp/, ".tmp")
              .trim(),
          );

      expect(stepsFor("open", "add")).toEqual([
        "fsync master.keys.tmp",
        "fsync master.keys",
        "fsync",
        "write key 1",
        "fsync master.keys.next",
        "rename master.keys.next",
        "fsync",
        "write key 2",
      ]);
      // A key that somebody has added by hand.
      await appendFile(path, `3 ${Buffer.alloc(32, 3).toString("base64")}\n`);
      expect(stepsFor("open")).toEqual(["fsync master.keys", "fsync", "write key 3"]);
    });
  },
);
