import { S3Client } from "@aws-sdk/client-s3";
import { onTestFinished } from "vitest";

import type { FakeClock } from "../../support/fake-clock.ts";
import type { StorageFixture, StorageFixtureParts } from "./storage-fixture.ts";
import { testKey } from "./signing-client.ts";
import { startStorageFixture } from "./storage-fixture.ts";

/** A client of the official SDK, at a gateway with its clock; both end with the test. */
export const startStorageClient = async (
  parts: StorageFixtureParts = {},
): Promise<{ client: S3Client; clock: FakeClock; storage: StorageFixture }> => {
  const storage = await startStorageFixture(parts);
  storage.clock.advance(Date.now() - storage.clock.now());
  const client = new S3Client({
    endpoint: storage.url,
    region: parts.region ?? "us-east-1",
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId: testKey.accessKeyId, secretAccessKey: testKey.secretAccessKey },
  });
  onTestFinished(async () => {
    client.destroy();
    await storage.stop();
  });
  return { client, clock: storage.clock, storage };
};
