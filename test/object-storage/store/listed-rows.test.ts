import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { expect, test } from "vitest";

import type { CurrentVersionRecord } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { CurrentVersionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ListObjectsV2ResponseSchema } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { describeListed } from "../../../services/object-storage/domain/listed-object.ts";
import { describeRestoreStatus } from "../../../services/object-storage/domain/restore.ts";
import { ListedRows } from "../../../services/object-storage/store/listed-rows.ts";
import type { SeededRandom } from "../../kit/store/seeded-random.ts";
import { seededRandom } from "../../kit/store/seeded-random.ts";
import { rounds } from "../../support/rounds.ts";

const nowMs = 1_800_000_000_000;
const owner = (account: string) => ({ id: `id of ${account}`, displayName: account });
const { contents } = ListObjectsV2ResponseSchema.field;

/** The listed object as it was made of the decoded record; a text: what decoding it threw. */
const described = (key: string, bytes: Uint8Array, showsOwner: boolean) =>
  orThrown(() => {
    const row = fromBinary(CurrentVersionRecordSchema, bytes);
    const restoreStatus = describeRestoreStatus(row, nowMs);
    const shown = showsOwner ? { owner: owner(row.ownerAccountId) } : {};
    const init = { contents: [{ ...describeListed(key, row), ...shown, restoreStatus }] };
    return toBinary(ListObjectsV2ResponseSchema, create(ListObjectsV2ResponseSchema, init));
  });

const listed = (key: string, bytes: Uint8Array, showsOwner: boolean) => {
  let decoded = 0;
  const rows = new ListedRows(contents, {
    row: (name, row) => ({
      ...describeListed(name, row),
      owner: showsOwner ? owner(row.ownerAccountId) : undefined,
      restoreStatus: describeRestoreStatus(row, nowMs),
    }),
    owner: showsOwner ? owner : undefined,
  });
  const decode = (): CurrentVersionRecord => {
    decoded += 1;
    return fromBinary(CurrentVersionRecordSchema, bytes);
  };
  const written = orThrown(() => {
    rows.add(key, { bytes, decode });
    return rows.take();
  });
  return { written, decoded };
};

const orThrown = (run: () => Uint8Array): unknown => {
  try {
    return fromBinary(ListObjectsV2ResponseSchema, run());
  } catch (error) {
    return String(error);
  }
};

const plain = {
  sequence: 1_234_567n,
  lastModifiedMs: 1_767_323_045_678n,
  eTag: "781e5e245d69b566979b86e28d23f2c7",
  sizeBytes: 5n,
  storageClass: "STANDARD",
  ownerAccountId: "000000000000",
  checksumAlgorithm: "CRC64NVME",
  checksumType: "FULL_OBJECT",
  versionId: "v1",
};

const bytesOf = (init: MessageInitShape<typeof CurrentVersionRecordSchema>): Uint8Array =>
  toBinary(CurrentVersionRecordSchema, create(CurrentVersionRecordSchema, init));

/** A record of members that are mostly as they are stored, with what they may be. */
const anyRecord = (random: SeededRandom): Uint8Array => {
  const text = (usual: string) =>
    random.chance(0.8) ? usual : random.pick(["", "é", "a\u0000\n<&>", "x".repeat(300), "y".repeat(20_000)]);
  const number = (usual: bigint) =>
    random.chance(0.8) ? usual : random.pick([0n, 1n, 999n, 1000n, 2n ** 31n, 2n ** 53n, 2n ** 63n - 1n, -1n]);
  const record = create(CurrentVersionRecordSchema, {
    ...Object.fromEntries(
      Object.entries(plain).map(([name, usual]) => [name, typeof usual === "string" ? text(usual) : number(usual)]),
    ),
    ...(random.chance(0.2) && { restore: { readyMs: number(7n), expiresMs: number(BigInt(nowMs) + 9n) } }),
  });
  const unknown = { no: 99, wireType: WireType.LengthDelimited, data: new BinaryWriter().string("later").finish() };
  if (random.chance(0.1)) record.$unknown = [unknown];
  return toBinary(CurrentVersionRecordSchema, record);
};

/** Bytes of records one after the other, turned bits and lost ends. */
const damaged = (random: SeededRandom, record: Uint8Array): Uint8Array => {
  const bytes = Buffer.concat([record, ...(random.chance(0.2) ? [anyRecord(random)] : [])]);
  for (let left = random.below(3); left > 0 && bytes.length > 0; left -= 1)
    bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
  return random.chance(0.3) ? bytes.subarray(0, random.below(bytes.length + 1)) : bytes;
};

const anyKey = (random: SeededRandom): string =>
  random.pick([
    "a",
    "photos/2026/cat.jpg",
    "é\u{1f600}",
    "a b\u0001\n",
    "k".repeat(1_024),
    `key-${random.below(1000)}`,
  ]);

test("shows of any record what its decoded form shows, and refuses what cannot be decoded", () => {
  const random = seededRandom(106);
  let withoutDecoding = 0;
  for (let round = 0; round < rounds(2_000, 200_000); round += 1) {
    const record = anyRecord(random);
    const bytes = random.chance(0.5) ? record : damaged(random, record);
    const key = anyKey(random);
    const showsOwner = random.chance(0.5);
    const { written, decoded } = listed(key, bytes, showsOwner);
    expect(written, `round ${round}`).toEqual(described(key, bytes, showsOwner));
    withoutDecoding += 1 - decoded;
  }
  expect(withoutDecoding).toBeGreaterThan(rounds(2_000, 200_000) / 20);
});

test.each([
  // what, record, whether it is decoded
  ["of an object with a checksum", plain, 0],
  ["of an object without a checksum", { ...plain, checksumAlgorithm: "", checksumType: "" }, 0],
  ["of an empty object", { ...plain, sizeBytes: 0n }, 0],
  ["of a restored object", { ...plain, restore: { readyMs: 1n, expiresMs: BigInt(nowMs) + 1n } }, 1],
] as const)("decodes the record %s %i times", (_what, record, times) => {
  expect(listed("cat.jpg", bytesOf(record), true).decoded).toBe(times);
});

test("has the same bytes as the library writes of the same members", () => {
  const rows = new ListedRows(contents, { row: () => ({}), owner: undefined });
  const keys = ["a", "é", "k".repeat(200)];
  for (const key of keys)
    rows.add(key, { bytes: bytesOf(plain), decode: () => create(CurrentVersionRecordSchema, plain) });
  const record = create(CurrentVersionRecordSchema, plain);
  const page = create(ListObjectsV2ResponseSchema, { contents: keys.map((key) => describeListed(key, record)) });
  expect(Buffer.compare(rows.take(), toBinary(ListObjectsV2ResponseSchema, page))).toBe(0);
});
