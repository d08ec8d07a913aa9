import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";

import { describe, expect, test } from "vitest";

import { resultOf, runQuery } from "./query.ts";

const people = "id,name\n1,Ann\n2,Bob\n";
const query = "SELECT name FROM S3Object";
const gzip = { input: { csv: { fileHeaderInfo: "USE" }, compressionType: "GZIP" } };
const bzip2 = { input: { csv: { fileHeaderInfo: "USE" }, compressionType: "BZIP2" } };

/** The same in two streams, as bzip2 1.0.8 writes it. */
const packed = Buffer.from(
  "QlpoOTFBWSZTWUMQH54AAATdAAAQAAQgACAAJiMgACID1BoQAwxGlnIRa8XckU4UJBDEB+eAQlpoOTFBWSZTWYrKpwsAAAFdAAAQAAQQABAAEACgACGADALHNuLuSKcKEhFZVOFg",
  "base64",
);

describe("gzip", () => {
  test("objects are decompressed, also of several members", async () => {
    const members = Buffer.concat([gzipSync(people), gzipSync("3,Cid\n")]);
    const { text, figures } = await runQuery(query, members, gzip);
    expect(text).toBe("Ann\nBob\nCid\n");
    expect(figures).toEqual({ scannedBytes: members.length, processedBytes: 26, returnedBytes: 12 });
  });

  test.each([
    // content, reason
    [Buffer.from(people), "INVALID_COMPRESSION_FORMAT"],
    [gzipSync(people).subarray(0, -9), "TRUNCATED_INPUT"],
    [packed, "INVALID_COMPRESSION_FORMAT"],
  ])("an object that begins with %.4s is refused with %s", async (content, reason) => {
    expect(await resultOf(query, content, gzip)).toMatch(new RegExp(`^${reason}: `));
  });

  test("a limit ends the reading of a large object", async () => {
    const content = gzipSync(`x\n${randomBytes(3_000_000).toString("hex").replaceAll("0", "\n")}`);
    const input = { csv: {}, compressionType: "GZIP" };
    const { text, figures } = await runQuery("SELECT * FROM S3Object LIMIT 1", content, { input, pieceBytes: 65_536 });
    expect(text).toBe("x\n");
    expect(figures.scannedBytes).toBeLessThan(content.length / 2);
  });
});

describe("bzip2", () => {
  test("objects are decompressed, also of several streams", async () => {
    expect(await resultOf(query, packed, bzip2)).toBe("Ann\nBob\n");
    expect(await resultOf(query, packed, { ...bzip2, pieceBytes: 1000 })).toBe("Ann\nBob\n");
  });

  const broken = Buffer.from(packed);
  broken.writeUInt8(broken.readUInt8(12) ^ 255, 12);

  test.each([
    // content, reason
    [Buffer.from(people), "INVALID_COMPRESSION_FORMAT"],
    [broken, "INVALID_COMPRESSION_FORMAT"],
    [packed.subarray(0, -9), "TRUNCATED_INPUT"],
    [Buffer.alloc(0), "TRUNCATED_INPUT"],
  ])("an object that begins with %.4s is refused with %s", async (content, reason) => {
    expect(await resultOf(query, content, bzip2)).toMatch(new RegExp(`^${reason}: `));
  });

  test("a block that has a byte needs no more time than its bytes do, though 3,000 streams follow each other", async () => {
    // `bzip2` of "a": a stream of one block.
    const stream = Buffer.from("QlpoOTFBWSZTWRmTm2sAAAABACAAIAAhGEaC7kinChIDMnNtYA==", "base64");
    const content = Buffer.alloc(3_000 * stream.length, stream);
    const before = process.cpuUsage();
    const { text } = await runQuery("SELECT CHAR_LENGTH(_1) FROM S3Object", content, {
      input: { csv: {}, compressionType: "BZIP2" },
      pieceBytes: 65_536,
    });
    expect(text).toBe("3000\n");
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(3_000);
  });
});
