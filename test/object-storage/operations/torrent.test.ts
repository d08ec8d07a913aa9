import { createHash } from "node:crypto";

import { expect, test } from "vitest";

import type { Harness } from "../harness.ts";
import { alice, as, put, refusalOf, startWithBucket } from "../harness.ts";

const torrentOf = async (harness: Harness, key: string): Promise<Buffer> => {
  const pieces: Uint8Array[] = [];
  for await (const { body } of harness.client.getObjectTorrent({ bucket: "photos", key }, as(alice))) pieces.push(body);
  return Buffer.concat(pieces);
};

test("a torrent has the name, the size and the digests of the pieces", async () => {
  const harness = await startWithBucket();
  await put(harness, { bucket: "photos", key: "films/cat.mp4" }, "meow");
  expect((await torrentOf(harness, "films/cat.mp4")).toString("latin1")).toBe(
    `d4:infod6:lengthi4e4:name7:cat.mp412:piece lengthi262144e6:pieces20:${Buffer.from(
      "7d5c2a2d6136fbf166211d5183bf66214a247f31",
      "hex",
    ).toString("latin1")}ee`,
  );
});

test("a torrent of more than one piece has a digest of each, and one of no content none", async () => {
  const harness = await startWithBucket();
  const content = Buffer.alloc(262_144 + 10, "film");
  await put(harness, { bucket: "photos", key: "film" }, content);
  const sha1 = (bytes: Uint8Array) => createHash("sha1").update(bytes).digest();
  const digests = Buffer.concat([sha1(content.subarray(0, 262_144)), sha1(content.subarray(262_144))]);
  const torrent = await torrentOf(harness, "film");
  expect(torrent.includes(Buffer.concat([Buffer.from("6:pieces40:"), digests, Buffer.from("ee")]))).toBe(true);
  await put(harness, { bucket: "photos", key: "empty/" });
  expect((await torrentOf(harness, "empty/")).toString()).toBe(
    "d4:infod6:lengthi0e4:name5:empty12:piece lengthi262144e6:pieces0:ee",
  );
});

const ownKey = Buffer.alloc(32, 7);
const underOwnKey = {
  sseCustomerAlgorithm: "AES256",
  sseCustomerKey: ownKey.toString("base64"),
  sseCustomerKeyMd5: createHash("md5").update(ownKey).digest("base64"),
};
test.each([
  // members, how the object was put, reason; in the order of refusal
  [{ bucket: "unknown" }, {}, /^NO_SUCH_BUCKET$/],
  [{ key: "none" }, {}, /^NO_SUCH_KEY$/],
  [{}, { storageClass: "GLACIER", ...underOwnKey }, /^INVALID_REQUEST: /],
  [
    {},
    { storageClass: "GLACIER" },
    /^INVALID_OBJECT_STATE: The operation is not valid for the object's storage class$/,
  ],
])("a torrent of %o that was put with %o is refused with %s", async (members, head, reason) => {
  const harness = await startWithBucket();
  await put(harness, { bucket: "photos", key: "cat", ...head }, "meow");
  const answers = harness.client.getObjectTorrent({ bucket: "photos", key: "cat", ...members }, as(alice));
  expect(await refusalOf(answers[Symbol.asyncIterator]().next())).toMatch(reason);
});
