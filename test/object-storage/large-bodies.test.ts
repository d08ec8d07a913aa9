/*
 * Goal: bodies of any size pass through the gateway and the service in both directions without being held, and copies
 * move no bytes. 512 MiB, 5 GiB under `npm run soak`.
 */
import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { CopyObjectCommand, CreateBucketCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { expect, test } from "vitest";

import { rounds } from "../support/rounds.ts";
import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const mebibyte = 1024 * 1024;
const objectBytes = rounds(512, 5 * 1024) * mebibyte;
const growthBytesMax = 100 * mebibyte;
/** What a copy may read and write: records, and the answer. */
const copyBytesMax = mebibyte;

/** The most memory that gateway and service had so far, in bytes. */
const peakBytes = async ({ installation }: System): Promise<number> => {
  let sum = 0;
  for (const name of ["gateway", "object-storage"] as const) {
    const status = await readFile(`/proc/${installation.pid(name)}/status`, "utf8");
    sum += Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }
  return sum;
};

/** The bytes that object storage has read and written so far, in files and on connections. */
const passedBytes = async ({ installation }: System): Promise<number> => {
  const counts = await readFile(`/proc/${installation.pid("object-storage")}/io`, "utf8");
  return [/rchar: (\d+)/, /wchar: (\d+)/].reduce((sum, count) => sum + Number(count.exec(counts)?.[1]), 0);
};

/** Sends a body of so many bytes, which consists of the piece again and again; returns status and ETag. */
const putBytes = async (
  url: string,
  piece: Buffer,
  bytes: number,
): Promise<[number | undefined, string | undefined]> => {
  const sending = request(url, { method: "PUT", headers: { "content-length": bytes } });
  const answered = new Promise<[number | undefined, string | undefined]>((resolve, reject) => {
    sending.on("error", reject);
    sending.on("response", (response) => {
      response.resume();
      resolve([response.statusCode, response.headers.etag]);
    });
  });
  function* pieces() {
    for (let sent = 0; sent < bytes; sent += piece.length) yield piece;
  }
  await pipeline(Readable.from(pieces(), { objectMode: false }), sending);
  return answered;
};

test(
  "a large object passes in both directions without being held, and is copied without its bytes",
  async () => {
    const system = await startSystem(await temporaryDirectory(), "silent");
    try {
      const { objectStorage } = system.clients;
      const film = { Bucket: "large", Key: "film" };
      await objectStorage.send(new CreateBucketCommand({ Bucket: film.Bucket }));
      const piece = randomBytes(mebibyte);
      const digest = createHash("md5");
      for (let hashed = 0; hashed < objectBytes; hashed += piece.length) digest.update(piece);
      const eTag = `"${digest.digest("hex")}"`;
      // What a first body of each direction needs once is not growth.
      await putBytes(await getSignedUrl(objectStorage, new PutObjectCommand(film)), piece, 8 * mebibyte);
      await (await objectStorage.send(new GetObjectCommand(film))).Body?.transformToByteArray();
      const beforeBytes = await peakBytes(system);

      const put = await putBytes(await getSignedUrl(objectStorage, new PutObjectCommand(film)), piece, objectBytes);
      expect(put).toEqual([200, eTag]);
      const { Body } = await objectStorage.send(new GetObjectCommand(film));
      const read = createHash("md5");
      let readBytes = 0;
      for await (const part of Body as Readable) {
        readBytes += (part as Buffer).length;
        read.update(part as Buffer);
      }
      expect([readBytes, `"${read.digest("hex")}"`]).toEqual([objectBytes, eTag]);
      const growthBytes = (await peakBytes(system)) - beforeBytes;

      const beforeCopyBytes = await passedBytes(system);
      const copy = new CopyObjectCommand({ Bucket: film.Bucket, Key: "copy", CopySource: "large/film" });
      const { CopyObjectResult } = await objectStorage.send(copy);
      const copyBytes = (await passedBytes(system)) - beforeCopyBytes;
      process.stdout.write(`growth ${Math.round(growthBytes / mebibyte)} MiB, copied by ${copyBytes} bytes\n`);
      expect(CopyObjectResult?.ETag).toBe(eTag);
      expect(copyBytes).toBeLessThan(copyBytesMax);
      expect(growthBytes).toBeLessThan(growthBytesMax);
    } finally {
      await system.stop();
    }
  },
  rounds(180_000, 3_600_000),
);
