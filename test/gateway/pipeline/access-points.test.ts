import { expect, onTestFinished, test } from "vitest";

import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { declaredAccessPoints } from "../../../services/object-storage/access/access-points.ts";
import { headBytes, sendBytes } from "../support/raw-client.ts";
import { signHeaders, testKey } from "../support/signing-client.ts";
import { startStorageFixture } from "../support/storage-fixture.ts";

const { accountId } = testKey;

/** What the owner of the test key gets of `/cat.jpg` at a host. */
const getAt = async (label: string) => {
  const storage = await startStorageFixture({
    accessPoints: declaredAccessPoints(
      {
        [`shots-${accountId}`]: { bucket: "photos" },
        [`local-${accountId}`]: { bucket: "photos", outpost: "op-1" },
      },
      { region: "us-east-1" },
    ),
  });
  onTestFinished(() => storage.stop());
  await storage.call({ method: "PUT", target: "/photos" });
  await storage.call({ method: "PUT", target: "/photos/cat.jpg", body: "meow" });
  const host = `${label}.localhost:${new URL(storage.url).port}`;
  const request = { method: "GET", target: "/cat.jpg" };
  const brand = amzDialect.signature;
  const signed = signHeaders(request, host, { brand, service: "s3", nowMs: storage.clock.now(), tellsHash: true });
  return sendBytes(storage.url, headBytes("GET", "/cat.jpg", { ...signed, host }));
};

test("an access point has a host name of its name and account", async () => {
  expect(await getAt(`shots-${accountId}`)).toMatchObject({ status: 200, body: "meow" });
  expect((await getAt(`other-${accountId}`)).status).toBe(404);
});

test("an access point on premises has a host name with its deployment as well", async () => {
  expect(await getAt(`local-${accountId}.op-1`)).toMatchObject({ status: 200, body: "meow" });
  expect((await getAt(`local-${accountId}`)).status).toBe(404);
});
