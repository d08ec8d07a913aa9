import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { ServerSideEncryption } from "../../../gen/quartet/objectstorage/v1/encryption_pb.ts";
import { addMasterKey } from "../../../services/kit/keyring/master-keys.ts";
import { wrappingKeys } from "../../../services/object-storage/store/layout.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { get, put, startHarness, startWithBucket } from "../harness.ts";

test("after a rotation the wrapping keys are wrapped again, and content needs the former master key no more", async () => {
  const clock = new FakeClock();
  const harness = await startWithBucket({ clock });
  const content = randomBytes(100_000);
  await put(harness, { bucket: "photos", key: "a" }, content);
  await put(harness, { bucket: "photos", key: "b", serverSideEncryption: ServerSideEncryption.KMS }, "b");
  const wrapped = () =>
    harness.opened.app.store.read(async (reader) =>
      (await Array.fromAsync(reader.range(wrappingKeys, {}))).map(({ key, value }) => [
        key[0],
        Buffer.from(value.wrappedKey).toString("hex"),
      ]),
    );
  const before = await wrapped();
  const path = join(harness.directory, "master.keys");
  await addMasterKey(path);

  const after = await eventually(async () => {
    clock.advance(60_000);
    const now = await wrapped();
    return now.every(([, key], index) => key !== before[index]?.[1]) && now;
  }, "all wrapping keys are wrapped again");
  expect(after.map(([id]) => id)).toEqual(["managed", "service"]);
  await harness.stop();
  const [, latest = ""] = (await readFile(path, "utf8")).split("\n");
  await writeFile(path, `${latest}\n`);
  const again = await startHarness({ directory: harness.directory, clock });

  expect((await get(again, { bucket: "photos", key: "a" })).body.equals(content)).toBe(true);
  expect((await get(again, { bucket: "photos", key: "b" })).body.toString()).toBe("b");
});
