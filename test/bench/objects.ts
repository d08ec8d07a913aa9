import { createSecretKey } from "node:crypto";
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { crc32 } from "node:zlib";

import type { Client } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";
import { Pool } from "undici";

import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { openStore } from "../../services/kit/store/store.ts";
import { chunkBytes, sealedChunks, writeChunk } from "../../services/object-storage/blobs/chunk-format.ts";
import { buckets, currentVersions } from "../../services/object-storage/store/layout.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";
import { bucket, largeBytes, smallBytes } from "./peers/object-sizes.ts";
import { startPeer } from "./peers/peer.ts";
import type { ServicePeer } from "./peers/service.ts";
import { startService } from "./peers/service.ts";
import { bestInTurns, rate, rateSync } from "./peers/turns.ts";

type ObjectStorage = Client<typeof ObjectStorageService>;

const rounds = 3;
const roundMs = 400;
const writers = 64;
const readers = 32;
const listedCount = 100_000;
const pageCount = 1_000;
const megabyte = 1_000_000;
const small = Buffer.alloc(smallBytes, "a");
const piece = Buffer.alloc(256 * 1024, "a");

const row = (what: string, unit: string, value: number, baseline: BenchRow["baseline"], target?: number): BenchRow => ({
  what,
  value,
  unit,
  baseline,
  ratio: value / baseline.value,
  ...(target === undefined ? {} : { target }),
});

async function* smallObject(key: string) {
  yield { bucket, key, contentLength: BigInt(small.length), body: small };
}

async function* largeObject(key: string) {
  yield { bucket, key, contentLength: BigInt(largeBytes) };
  for (let sent = 0; sent < largeBytes; sent += piece.length) yield { body: piece };
}

const getAll = async (storage: ObjectStorage, key: string, bytes: number): Promise<void> => {
  let size = 0;
  for await (const { body } of storage.getObject({ bucket, key })) size += body.length;
  if (size !== bytes) throw new Error(`${size} of ${bytes} bytes came`);
};

/** Small objects that are answered, so on disk, against writing and syncing the same bytes to one file. */
const smallPuts = async (storage: ObjectStorage, directory: string): Promise<BenchRow[]> => {
  const file = openSync(join(directory, "raw"), "w");
  const { raw, one, many } = await bestInTurns(rounds, {
    raw: () =>
      rateSync(roundMs, () => {
        writeSync(file, small);
        fdatasyncSync(file);
      }),
    one: () => rate(1, roundMs, (number) => storage.putObject(smallObject(`one-${number % 1_000}`))),
    many: () => rate(writers, roundMs, (number) => storage.putObject(smallObject(`many-${number % 1_000}`))),
  });
  closeSync(file);
  const baseline = { what: "writes with fdatasync/s, one writer", value: raw };
  return [
    row("4 KiB objects put, one writer", "puts/s", one, baseline),
    row(`4 KiB objects put, ${writers} writers`, "puts/s", many, baseline),
  ];
};

const smallGets = async (storage: ObjectStorage): Promise<BenchRow> => {
  const server = startPeer("object-servers", "http");
  const pool = new Pool(await server.ask<string>({ ask: "start" }), { connections: readers });
  await storage.putObject(smallObject("small"));
  const { own, bare } = await bestInTurns(rounds, {
    bare: () =>
      rate(readers, roundMs, async () => {
        const answer = await pool.request({ path: "/", method: "GET" });
        await answer.body.arrayBuffer();
      }),
    own: () => rate(readers, roundMs, () => getAll(storage, "small", smallBytes)),
  });
  await pool.close();
  server.stop();
  return row(`4 KiB objects got, ${readers} readers`, "gets/s", own, { what: "bare node:http gets/s", value: bare });
};

/** Sends or takes a large body over a socket of its own. */
const overSocket = (address: string, isUp: boolean): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(address).port), "127.0.0.1");
    socket.on("error", reject).on("data", () => {});
    socket.on("close", () => resolve());
    if (!isUp) return;
    let left = largeBytes;
    const send = (): void => {
      while (left > 0) {
        left -= piece.length;
        if (!socket.write(piece)) return void socket.once("drain", send);
      }
    };
    send();
  });

const largeObjects = async (storage: ObjectStorage): Promise<BenchRow[]> => {
  const [up, down] = [startPeer("object-servers", "socket-up"), startPeer("object-servers", "socket-down")];
  const upAddress = await up.ask<string>({ ask: "start" });
  const downAddress = await down.ask<string>({ ask: "start" });
  const rates = await bestInTurns(2, {
    rawUp: () => rate(1, roundMs, () => overSocket(upAddress, true)),
    put: () => rate(1, roundMs, () => storage.putObject(largeObject("large"))),
    rawDown: () => rate(1, roundMs, () => overSocket(downAddress, false)),
    get: () => rate(1, roundMs, () => getAll(storage, "large", largeBytes)),
  });
  up.stop();
  down.stop();
  const perSecond = (count: number): number => (count * largeBytes) / megabyte;
  const baseline = (count: number) => ({ what: "raw socket copy, nothing stored", value: perSecond(count) });
  return [
    row("64 MiB objects put, durable", "MB/s", perSecond(rates.put), baseline(rates.rawUp)),
    row("64 MiB objects got", "MB/s", perSecond(rates.get), baseline(rates.rawDown)),
  ];
};

/** The least processor time of several runs, in milliseconds. */
const leastCpuMs = (work: () => void): number => {
  let least = Infinity;
  for (let round = 0; round < 3 * rounds; round += 1) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
};

/**
 * The processor time that the service needs for a large object, without the part that encryption has in it: what its
 * chunks cost to seal or to open more than they cost with a checksum only. There is no way to store without encryption.
 */
const encryptionCost = async (storage: ObjectStorage, service: ServicePeer): Promise<BenchRow[]> => {
  // As services/run.cjs sets it, for the collection of buffers is part of the cost.
  setFlagsFromString("--external-memory-accounted-in-global-limit");
  const key = createSecretKey(Buffer.alloc(32, 1));
  const [blobId, count] = ["00", largeBytes / chunkBytes];
  const sealed = Array.from({ length: count }, (_, chunk) => {
    const writer = writeChunk(blobId, chunk, key);
    return Buffer.concat([writer.add(piece), writer.end()]);
  });
  const cpuOf = async (call: () => Promise<unknown>): Promise<number> => {
    let least = Infinity;
    for (let round = 0; round <= rounds; round += 1) {
      const before = await service.cpuMs();
      await call();
      least = Math.min(least, (await service.cpuMs()) - before);
    }
    return least;
  };
  const checksumMs = leastCpuMs(() => sealed.forEach((stored) => void crc32(stored)));
  const sealMs = leastCpuMs(() => {
    for (let chunk = 0; chunk < count; chunk += 1) {
      const writer = writeChunk(blobId, chunk, key);
      // In pieces of the size that a body arrives in.
      for (let at = 0; at < chunkBytes; at += 65_536) writer.add(piece.subarray(at, at + 65_536));
      writer.end();
    }
  });
  const reader = sealedChunks(blobId, key);
  const openMs = leastCpuMs(() => sealed.forEach((stored, chunk) => void reader.open(chunk, stored)));
  const putMs = await cpuOf(() => storage.putObject(largeObject("large")));
  const getMs = await cpuOf(() => getAll(storage, "large", largeBytes));
  const target = 0.87;
  const costRow = (what: string, wholeMs: number, encryptionMs: number): BenchRow =>
    row(what, "ms of CPU", wholeMs - encryptionMs, { what: "ms with its encryption", value: wholeMs }, target);
  return [
    costRow("64 MiB object put, less its encryption", putMs, sealMs - checksumMs),
    costRow("64 MiB object got, less its encryption", getMs, openMs - checksumMs),
  ];
};

const keyOf = (number: number): string => `key-${String(number).padStart(9, "0")}`;

/** Fills a bucket's listing without content, which a listing does not look at. The service must not be running. */
const fillListing = async (dataDir: string): Promise<void> => {
  const store = await openStore({ directory: join(dataDir, "object-storage", "leveldb"), sync: false });
  for (let begun = 0; begun < listedCount; begun += pageCount)
    await store.transact(async (transaction) => {
      const { bucketId } = (await transaction.get(buckets, ["listed"])) ?? { bucketId: "" };
      for (let number = begun; number < begun + pageCount; number += 1)
        transaction.put(currentVersions, [bucketId, keyOf(number)], {
          sequence: 1n,
          lastModifiedMs: 1_800_000_000_000n,
          eTag: "d41d8cd98f00b204e9800998ecf8427e",
          sizeBytes: 0n,
          storageClass: "STANDARD",
          ownerAccountId: "000000000000",
        });
    });
  await store.close();
};

const listing = async (storage: ObjectStorage): Promise<BenchRow> => {
  const page = async (startAfter: string): Promise<void> => {
    const { keyCount } = await storage.listObjectsV2({ bucket: "listed", startAfter });
    if (keyCount !== pageCount) throw new Error(`${keyCount} keys are listed`);
  };
  const { first, last } = await bestInTurns(rounds, {
    first: () => rate(1, roundMs, () => page("a")),
    last: () => rate(1, roundMs, () => page(keyOf(listedCount - pageCount - 1))),
  });
  const count = listedCount.toLocaleString("en-US");
  const baseline = { what: "keys/s of the first page", value: first * pageCount };
  return row(`last page of ${count} keys`, "keys/s", last * pageCount, baseline, 0.8);
};

/** The object storage service as a process of its own, called as the gateway calls it. */
export const group: BenchGroup = {
  name: "objects",
  run: async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "quartet-bench-"));
    let service = await startService("object-storage", dataDir);
    let storage = createClient(ObjectStorageService, service.transport);
    try {
      await storage.createBucket({ bucket });
      await storage.createBucket({ bucket: "listed" });
      const rows = [
        ...(await smallPuts(storage, dataDir)),
        await smallGets(storage),
        ...(await largeObjects(storage)),
        ...(await encryptionCost(storage, service)),
      ];
      await service.stop();
      await fillListing(dataDir);
      service = await startService("object-storage", dataDir);
      storage = createClient(ObjectStorageService, service.transport);
      return [...rows, await listing(storage)];
    } finally {
      await service.stop();
      await rm(dataDir, { recursive: true });
    }
  },
};
