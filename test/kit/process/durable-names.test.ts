import { join } from "node:path";

import { expect, test } from "vitest";

import { openProcessStore } from "../../../services/kit/process/process-store.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { syncedDirectories } from "../../support/synced-directories.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const config = { acceptLoss: "no", freeMebibytesMin: 0, freePercentMin: 0, ballastMebibytes: 0 } as const;

test("the names of a process's new directories are durable before it stores anything", async () => {
  const base = await temporaryDirectory();
  const synced = await syncedDirectories();
  const dataDir = join(base, "quartet/data");
  const end = (): never => expect.unreachable();
  const { store, space } = await openProcessStore({ ...config, dataDir }, "event-bus", silentLogger, { end });
  await store.close();
  await space.close();
  const process = join(dataDir, "event-bus");
  expect(new Set(synced)).toEqual(new Set([join(process, "leveldb"), process, dataDir, join(base, "quartet"), base]));
});
