import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { VersionRecordSchema } from "../../../gen/quartet/objectstorage/storage/v1/records_pb.ts";
import { ListObjectVersionsResponseSchema } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { describeRestoreStatus } from "../../../services/object-storage/domain/restore.ts";
import { versions } from "../../../services/object-storage/store/layout.ts";
import { ListedVersions } from "../../../services/object-storage/store/listed-versions.ts";
import { readVersionRows } from "../../../services/object-storage/store/version-listing.ts";
import type { SeededRandom } from "../../kit/store/seeded-random.ts";
import { seededRandom } from "../../kit/store/seeded-random.ts";
import { rounds } from "../../support/rounds.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const none = new Uint8Array(0);
const nowMs = 1_800_000_000_000;
const owner = (account: string) => ({ id: `id of ${account}`, displayName: account });

type Version = MessageInitShape<typeof VersionRecordSchema>;

/** A version of members that are mostly as they are stored, with what they may be. */
const anyVersion = (random: SeededRandom): Version => {
  const text = (usual: string) =>
    random.chance(0.8) ? usual : random.pick(["", "é", "a\u0000\n<&>", "x".repeat(300), "y".repeat(20_000)]);
  const number = (usual: bigint) =>
    random.chance(0.8) ? usual : random.pick([0n, 1n, 999n, 1000n, 2n ** 31n, 2n ** 49n, 2n ** 53n - 1n]);
  const listOf = <T>(item: T): T[] => Array.from({ length: random.below(5) }, () => item);
  return {
    versionId: text("00000000000001a2b3c4d5e6f7a8b9c0"),
    isDeleteMarker: random.chance(0.2),
    lastModifiedMs: random.chance(0.05) ? -1n : number(1_767_323_045_678n),
    eTag: text("781e5e245d69b566979b86e28d23f2c7"),
    sizeBytes: number(5n),
    storageClass: text("STANDARD"),
    ownerAccountId: text("000000000000"),
    metadata: random.chance(0.5) ? { colour: "é", "a-b": "" } : {},
    tags: listOf({ key: "team", value: "é" }),
    extents: listOf({ blobId: "00ff", lengthBytes: 5n }),
    parts: listOf({ partNumber: 1, sizeBytes: 5n }),
    legalHold: random.pick(["", "ON"]),
    renameToken: text(""),
    ...(random.chance(0.8) && { checksum: { algorithm: text("CRC64NVME"), type: "FULL_OBJECT", value: none } }),
    ...(random.chance(0.2) && { restore: { readyMs: number(7n), expiresMs: number(BigInt(nowMs) + 9n) } }),
  };
};

/** The members of an item that versions and delete markers have. */
const described = (key: string, version: Version, isLatest: boolean) => {
  const ms = Number(version.lastModifiedMs);
  const seconds = Math.floor(ms / 1000);
  return {
    key,
    versionId: version.versionId || "null",
    isLatest,
    lastModified: { seconds: BigInt(seconds), nanos: (ms - 1000 * seconds) * 1_000_000 },
    owner: owner(version.ownerAccountId ?? ""),
  };
};

const describedVersion = (key: string, version: Version, isLatest: boolean) => ({
  ...described(key, version, isLatest),
  eTag: `"${version.eTag}"`,
  checksumAlgorithm: version.checksum === undefined ? [] : [version.checksum.algorithm ?? ""],
  checksumType: version.checksum?.type,
  size: version.sizeBytes,
  storageClass: version.storageClass,
  restoreStatus: describeRestoreStatus(create(VersionRecordSchema, version), nowMs),
});

test("shows of any stored version what its record has", async () => {
  const random = seededRandom(106);
  const count = rounds(2_000, 50_000);
  const stored = Array.from({ length: count }, (_none, index) => ({
    key: `${random.pick(["a", "é", "k".repeat(200)])} ${index}`,
    version: anyVersion(random),
    isLatest: random.chance(0.5),
  }));
  const store = await openStore({ directory: await temporaryDirectory(), sync: false });
  for (const { key, version } of stored) await store.transact(async (tx) => tx.put(versions, ["b", key, 7], version));

  const rows = await store.read((reader) =>
    readVersionRows(reader, "b", "", { after: { key: "", sequence: undefined } }, count + 1),
  );
  const byKey = new Map(rows.map(({ name, row }) => [name, row]));
  const listed = new ListedVersions({ owner, restoreStatus: (row) => describeRestoreStatus(row, nowMs) });
  for (const { key, isLatest } of stored) listed.add(key, byKey.get(key)!, isLatest);
  const taken = listed.take();
  const items = Buffer.concat([taken.versions, taken.deleteMarkers]);
  await store.close();

  const positions = stored.flatMap(({ version }, index) => (version.isDeleteMarker ? [index] : []));
  expect(listed.deleteMarkerPositions).toEqual(positions);
  const markers = stored.filter(({ version }) => version.isDeleteMarker);
  const others = stored.filter(({ version }) => !version.isDeleteMarker);
  const expected = create(ListObjectVersionsResponseSchema, {
    versions: others.map(({ key, version, isLatest }) => describedVersion(key, version, isLatest)),
    deleteMarkers: markers.map(({ key, version, isLatest }) => described(key, version, isLatest)),
  });
  const decoded = fromBinary(ListObjectVersionsResponseSchema, items);
  expect(decoded.versions).toHaveLength(others.length);
  for (const [index, version] of decoded.versions.entries()) expect(version).toEqual(expected.versions[index]);
  expect(decoded.deleteMarkers).toEqual(expected.deleteMarkers);
  // The same bytes as the library writes, but for the members that it leaves out of an instant.
  expect(Buffer.compare(items, toBinary(ListObjectVersionsResponseSchema, expected))).toBe(0);
});
