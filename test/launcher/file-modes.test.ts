import { chmod, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

import { CreateBucketCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { expect, onTestFinished, test } from "vitest";

import { systemClock } from "../../services/kit/clock/clock.ts";
import { openAccessKeyFile } from "../../services/kit/identity/access-key-file.ts";
import { randomIds } from "../../services/kit/ids/ids.ts";
import { credentialsFile } from "../../services/launcher/settings.ts";
import { startLoggedSystem } from "../support/logged-system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

test("all that an installation stores is readable and writable only by its owner", { timeout: 120_000 }, async () => {
  const dataDir = await temporaryDirectory();
  await chmod(dataDir, 0o755);
  const system = await startLoggedSystem(dataDir, "info");
  onTestFinished(() => system.stop());
  const keys = await openAccessKeyFile({ path: credentialsFile(dataDir), clock: systemClock, ids: randomIds });
  const key = keys.find(keys.firstAccessKeyId ?? "");
  const client = new S3Client({
    endpoint: system.gatewayUrl,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId: key?.accessKeyId ?? "", secretAccessKey: key?.secretAccessKey ?? "" },
  });
  onTestFinished(() => client.destroy());
  await client.send(new CreateBucketCommand({ Bucket: "photos" }));
  await client.send(new PutObjectCommand({ Bucket: "photos", Key: "large", Body: new Uint8Array(1024 * 1024) }));
  await system.stop();

  const names = (await readdir(dataDir, { recursive: true })).toSorted();
  expect(names.filter((name) => /^object-storage\/blobs\/.*\//.test(name)).length).toBeGreaterThan(0);
  const modes = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(dataDir, name));
      return [name, (found.mode & 0o777).toString(8), found.isDirectory() ? "700" : "600"] as const;
    }),
  );
  expect(modes.filter(([, mode, wanted]) => mode !== wanted)).toEqual([]);
});
