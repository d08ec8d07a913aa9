import { randomInt } from "node:crypto";

import { describe, expect, test } from "vitest";

import type { SignatureBrand } from "../../../gateway/signature/brand.ts";
import { decodeBody, decodeWhole } from "../../../gateway/signature/decode-body.ts";
import type { Payload } from "../../../gateway/signature/payload.ts";
import { reasonOf, refused } from "../support/refused.ts";
import { amz, svc } from "./brands.ts";
import { hex, signedByHeader, signedChunks, verifyExample } from "./signer.ts";

async function* split(wire: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const cut of [...cuts.toSorted((a, b) => a - b), wire.length]) {
    yield wire.subarray(at, cut);
    at = cut;
  }
}

const randomCuts = (length: number, count: number): number[] =>
  Array.from({ length: count }, () => randomInt(length + 1));

interface Decoded {
  readonly bytes: Buffer;
  readonly trailers: Readonly<Record<string, string>>;
}

const decodedPieces = async (payload: Payload, wire: Uint8Array, cuts: readonly number[]): Promise<Decoded> => {
  const body = decodeBody(payload, split(wire, cuts));
  const bytes = Buffer.concat(await Array.fromAsync(body));
  return { bytes, trailers: Object.fromEntries(body.trailers) };
};

const decodedWhole = async (payload: Payload, wire: Uint8Array): Promise<Decoded> => {
  const { bytes, trailers } = decodeWhole(payload, Buffer.from(wire));
  return { bytes: Buffer.from(bytes), trailers: Object.fromEntries(trailers) };
};

/** Decodes a body piece by piece and as a whole, which must end alike. */
const decoded = async (payload: Payload, wire: Uint8Array, cuts: readonly number[] = []): Promise<Decoded> => {
  const [piece, whole] = await Promise.allSettled([decodedPieces(payload, wire, cuts), decodedWhole(payload, wire)]);
  expect(whole).toEqual(piece);
  if (piece.status === "rejected") throw piece.reason;
  return piece.value;
};

const refusalOf = (payload: Payload, wire: Uint8Array | string): Promise<unknown> =>
  decoded(payload, Buffer.from(wire)).then(
    () => "accepted",
    (error: unknown) => error,
  );

const pieces = (...sizes: number[]): Buffer[] => sizes.map((size, at) => Buffer.alloc(size, `piece ${at}, `));

const unsignedTrailer = (decodedLength: number, ...trailerNames: string[]): Payload => ({
  kind: "chunked",
  decodedLength,
  hasTrailer: true,
  trailerNames,
  chain: undefined,
});

const exactly = (text: string): Payload => ({ kind: "exact", sha256: hex(text) });

describe("a plain body", () => {
  test("is the source itself", async () => {
    expect(await decoded({ kind: "plain" }, Buffer.from("body"))).toEqual({ bytes: Buffer.from("body"), trailers: {} });
  });
});

describe("a body with a declared hash", () => {
  test("comes through when it has that hash", async () => {
    expect((await decoded(exactly("the body"), Buffer.from("the body"), [3])).bytes.toString()).toBe("the body");
  });

  test("is refused at its end when it has another", async () => {
    const body = decodeBody(exactly("the body"), split(Buffer.from("the bodY"), [4]))[Symbol.asyncIterator]();
    expect(Buffer.from((await body.next()).value).toString()).toBe("the ");
    expect(Buffer.from((await body.next()).value).toString()).toBe("bodY");
    await expect(body.next()).rejects.toEqual(
      refused("PAYLOAD_MISMATCH", {
        client_computed_content_SHA256: hex("the body"),
        s3_computed_content_SHA256: hex("the bodY"),
      }),
    );
  });
});

describe.for<[string, SignatureBrand]>([
  ["amz", amz],
  ["svc", svc],
])("signed chunks of %s", ([, brand]) => {
  const chunks = pieces(8192, 70_000, 8192, 17);
  const body = Buffer.concat(chunks);
  const trailers = {
    [`${brand.headerPrefix}checksum-crc32c`]: "sOO8/Q==",
    [`${brand.headerPrefix}checksum-sha256`]: "x",
  };

  test("come through however they are split", async () => {
    const { request, wire } = signedChunks(chunks, { brand });
    const { payload } = verifyExample(request);
    for (let round = 0; round < 50; round += 1) {
      const cuts = randomCuts(wire.length, randomInt(200));
      expect((await decoded(payload, wire, cuts)).bytes.equals(body), `cut at ${cuts.join()}`).toBe(true);
    }
  });

  test("come through byte by byte, trailers too", async () => {
    const { request, wire } = signedChunks(chunks, { brand, trailers });
    const cuts = Array.from({ length: wire.length }, (_, at) => at);
    const seen = await decoded(verifyExample(request).payload, wire, cuts);
    expect(seen.bytes.equals(body)).toBe(true);
    expect(seen.trailers).toEqual(trailers);
  });

  test.each([
    // how the trailers are written, as the public documents and minio-go do
    ["with LF line ends", (text: string) => text.replaceAll(/((?:sOO8\/Q==|:x))\r\n/g, "$1\n")],
    [
      "with LF line ends and an empty line before the signature",
      (text: string) => text.replaceAll(/((?:sOO8\/Q==|:x))\r\n/g, "$1\n").replace(/(\S+trailer-signature:)/, "\r\n$1"),
    ],
  ])("come through with trailers %s", async (_how, written) => {
    const { request, wire } = signedChunks(chunks, { brand, trailers });
    const changed = Buffer.from(written(wire.toString("latin1")), "latin1");
    expect(changed.equals(wire)).toBe(false);
    const { payload } = verifyExample(request);
    for (const cuts of [[], Array.from({ length: changed.length }, (_, at) => at)]) {
      const seen = await decoded(payload, changed, cuts);
      expect(seen.bytes.equals(body)).toBe(true);
      expect(seen.trailers).toEqual(trailers);
    }
  });

  test("are refused when any byte of them is changed", async () => {
    const small = signedChunks(pieces(200), { brand, trailers });
    const { payload } = verifyExample(small.request);
    const accepted: number[] = [];
    for (let at = 0; at < small.wire.length; at += 1) {
      const wire = Buffer.from(small.wire);
      wire[at] = (wire[at] ?? 0) ^ 0x01;
      if ((await refusalOf(payload, wire)) === "accepted") accepted.push(at);
    }
    expect(accepted).toEqual([]);
  });

  test("are refused when they are cut anywhere", async () => {
    const { request, wire } = signedChunks(pieces(8192, 40), { brand, trailers });
    const { payload } = verifyExample(request);
    const cuts = [...Array.from({ length: 400 }, (_, at) => wire.length - 1 - at), ...randomCuts(wire.length - 1, 100)];
    const outcomes = new Set<string>();
    for (const cut of cuts) outcomes.add(reasonOf(await refusalOf(payload, wire.subarray(0, cut))));
    expect([...outcomes].toSorted()).toEqual(["MALFORMED_TRAILER", "WRONG_BODY_LENGTH"]);
  });

  test("cannot change places", async () => {
    const { request, wire: ordered } = signedChunks(pieces(8192, 8192), { brand });
    const chunk = "2000;chunk-signature=".length + 64 + 2 + 8192 + 2;
    const wire = Buffer.concat([
      ordered.subarray(chunk, 2 * chunk),
      ordered.subarray(0, chunk),
      ordered.subarray(2 * chunk),
    ]);
    expect(await refusalOf(verifyExample(request).payload, wire)).toEqual(
      refused("CHUNK_SIGNATURE_MISMATCH", { chunk: "1" }),
    );
  });
});

describe("a signed body", () => {
  test("may be empty", async () => {
    const { request, wire } = signedChunks([]);
    expect((await decoded(verifyExample(request).payload, wire)).bytes).toHaveLength(0);
  });

  // what is wrong, how the wire is changed, kind
  test.for<[string, (wire: string) => string, string, object]>([
    [
      "a chunk without signature",
      (wire) => wire.replace(/;chunk-signature=[^\r]*/, ""),
      "MALFORMED_CHUNK",
      { problem: "A chunk has no signature." },
    ],
    [
      "a signature of other characters",
      (wire) => wire.replace(/=[0-9a-f]/, "=g"),
      "MALFORMED_CHUNK",
      { problem: "A chunk has no signature." },
    ],
    [
      "trailers that were not announced",
      (wire) => wire.replace(/\r\n\r\n$/, "\r\nx-amz-meta-a:1\r\n\r\n"),
      "MALFORMED_CHUNK",
      { problem: "There are trailers where none may be." },
    ],
    ["bytes after its end", (wire) => `${wire}x`, "MALFORMED_CHUNK", { problem: "There are bytes after its end." }],
  ])("with %s is refused", async ([, change, reason, metadata]) => {
    const { request, wire } = signedChunks(pieces(20));
    expect(await refusalOf(verifyExample(request).payload, change(wire.toString("latin1")))).toEqual(
      refused(reason, metadata),
    );
  });

  test("needs its trailers' signature", async () => {
    const { request, wire } = signedChunks(pieces(20), { trailers: { "x-amz-checksum-crc32": "AAAAAA==" } });
    const without = wire.toString("latin1").replace(/x-amz-trailer-signature:.*\r\n/, "");
    expect(await refusalOf(verifyExample(request).payload, without)).toEqual(
      refused("MALFORMED_TRAILER", { problem: "Their signature is missing." }),
    );
  });

  test("has nothing after its trailers' signature", async () => {
    const { request, wire } = signedChunks(pieces(20), { trailers: { "x-amz-checksum-crc32": "AAAAAA==" } });
    const more = wire
      .toString("latin1")
      .replace(/(x-amz-trailer-signature:.*\r\n)/, "$1x-amz-checksum-crc32:BBBBBB==\r\n");
    expect(await refusalOf(verifyExample(request).payload, more)).toEqual(
      refused("MALFORMED_TRAILER", { problem: "Their signature must come last." }),
    );
  });
});

describe("an unsigned body with a trailer", () => {
  test("comes through", async () => {
    const payload = verifyExample(
      signedByHeader({
        method: "PUT",
        payloadHash: "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        headers: { "x-amz-decoded-content-length": "5", "x-amz-trailer": "x-amz-checksum-crc32" },
      }),
    ).payload;
    expect(await decoded(payload, Buffer.from("5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"))).toEqual({
      bytes: Buffer.from("hello"),
      trailers: { "x-amz-checksum-crc32": "NhCmhg==" },
    });
  });

  test("may announce no trailer", async () => {
    expect((await decoded(unsignedTrailer(5), Buffer.from("5\r\nhello\r\n0\r\n\r\n"))).bytes.toString()).toBe("hello");
  });

  const hello = unsignedTrailer(5, "x-amz-checksum-crc32");

  test("may end with one more empty line, as minio-go writes it", async () => {
    const wire = "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\n\r\n\r\n";
    for (const cuts of [[], Array.from({ length: wire.length }, (_, at) => at)]) {
      const seen = await decoded(hello, Buffer.from(wire), cuts);
      expect(seen).toEqual({ bytes: Buffer.from("hello"), trailers: { "x-amz-checksum-crc32": "NhCmhg==" } });
    }
  });

  const large = "a".repeat(8191);

  test.each<[string, Payload, string]>([
    ["a size of 13 digits", unsignedTrailer(5), "0000000000005\r\nhello\r\n0\r\n\r\n"],
    ["a line of 1,024 bytes", unsignedTrailer(5), `5;${"x".repeat(1020)}\r\nhello\r\n0\r\n\r\n`],
    ["a chunk of 8,192 bytes that is not the last", unsignedTrailer(8193), `2000\r\na${large}\r\n1\r\na\r\n0\r\n\r\n`],
    ["a small chunk that is the last", unsignedTrailer(1), "1\r\na\r\n0\r\n\r\n"],
    [
      "16 trailers",
      unsignedTrailer(0, ...Array.from({ length: 16 }, (_, at) => `t${at}`)),
      `0\r\n${Array.from({ length: 16 }, (_, at) => `t${at}:x\r\n`).join("")}\r\n`,
    ],
  ])("may have %s", async (_what, payload, wire) => {
    const { bytes } = await decoded(payload, Buffer.from(wire));
    expect(bytes.length).toBe(payload.kind === "chunked" ? payload.decodedLength : undefined);
  });

  // what is wrong, the payload, the wire, reason, metadata
  test.for<[string, Payload, string, string, object]>([
    [
      "a size that is no number",
      hello,
      "five\r\nhello\r\n",
      "MALFORMED_CHUNK",
      { problem: "A chunk's size is not a hexadecimal number." },
    ],
    ["a negative size", hello, "-5\r\nhello\r\n", "MALFORMED_CHUNK", {}],
    ["an empty size", hello, "\r\nhello\r\n", "MALFORMED_CHUNK", {}],
    ["a size of 14 digits", hello, "00000000000005\r\nhello\r\n", "MALFORMED_CHUNK", {}],
    ["a line without CR", hello, "5\nhello\r\n", "MALFORMED_CHUNK", { problem: "A line does not end with CR and LF." }],
    [
      "a line of more than 1,024 bytes",
      hello,
      `5;${"x".repeat(1030)}`,
      "MALFORMED_CHUNK",
      { problem: "A line is too long." },
    ],
    [
      "a chunk longer than its size",
      hello,
      "4\r\nhello\r\n",
      "MALFORMED_CHUNK",
      { problem: "A chunk is longer than its size." },
    ],
    ["more than the declared length", hello, "6\r\nhello!", "WRONG_BODY_LENGTH", { expected: "5", received: "6" }],
    [
      "less than the declared length",
      hello,
      "4\r\nhell\r\n0\r\n",
      "WRONG_BODY_LENGTH",
      { expected: "5", received: "4" },
    ],
    ["nothing", hello, "", "WRONG_BODY_LENGTH", { expected: "5", received: "0" }],
    ["half a chunk", hello, "5\r\nhe", "WRONG_BODY_LENGTH", { expected: "5", received: "2" }],
    [
      "a small chunk that is not the last",
      unsignedTrailer(8192),
      `1fff\r\n${large}\r\n1\r\na\r\n0\r\n\r\n`,
      "CHUNK_TOO_SMALL",
      { chunk: "1", size: "8191" },
    ],
    [
      "two empty lines more",
      hello,
      "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\n\r\n\r\n\r\n",
      "MALFORMED_CHUNK",
      { problem: "There are bytes after its end." },
    ],
    [
      "half an empty line more",
      hello,
      "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\n\r\n\r",
      "MALFORMED_CHUNK",
      { problem: "There are bytes after its end." },
    ],
    [
      "a byte more",
      hello,
      "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\n\r\nx",
      "MALFORMED_CHUNK",
      { problem: "There are bytes after its end." },
    ],
    ["no end", hello, "5\r\nhello\r\n0\r\n", "MALFORMED_TRAILER", { problem: "They are not complete." }],
    [
      "a trailer that was not announced",
      hello,
      "5\r\nhello\r\n0\r\nx-amz-checksum-sha1:x\r\n\r\n",
      "MALFORMED_TRAILER",
      { problem: "One was not announced." },
    ],
    ["a trailer without colon", hello, "5\r\nhello\r\n0\r\nx-amz-checksum-crc32\r\n\r\n", "MALFORMED_TRAILER", {}],
    [
      "a trailer given twice",
      hello,
      "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:1\r\nx-amz-checksum-crc32:2\r\n\r\n",
      "MALFORMED_TRAILER",
      { problem: "One is given twice." },
    ],
    [
      "a trailer that is missing",
      hello,
      "5\r\nhello\r\n0\r\n\r\n",
      "MALFORMED_TRAILER",
      { problem: "One that was announced is missing." },
    ],
    [
      "a trailer of more than 1,024 bytes",
      hello,
      `5\r\nhello\r\n0\r\nx-amz-checksum-crc32:${"x".repeat(1024)}\r\n\r\n`,
      "MALFORMED_TRAILER",
      { problem: "A line is too long." },
    ],
    [
      "17 trailers",
      unsignedTrailer(0, ...Array.from({ length: 17 }, (_, at) => `t${at}`)),
      `0\r\n${Array.from({ length: 17 }, (_, at) => `t${at}:x\r\n`).join("")}\r\n`,
      "MALFORMED_TRAILER",
      { problem: "There are too many." },
    ],
  ])("with %s is refused", async ([, payload, wire, reason, metadata]) => {
    expect(await refusalOf(payload, wire)).toEqual(refused(reason, metadata));
  });
});

describe("decoding", () => {
  test("copies no body bytes and reads only as fast as it is read", async () => {
    const piece = Buffer.alloc(16_384, "a");
    let taken = 0;
    const source = (async function* () {
      yield Buffer.from("100000\r\n");
      for (; taken < 64; taken += 1) yield piece;
      yield Buffer.from("\r\n0\r\n\r\n");
    })();
    const body = decodeBody(unsignedTrailer(0x100000), source)[Symbol.asyncIterator]();
    const first = await body.next();
    expect(first.value.buffer).toBe(piece.buffer);
    expect(taken).toBe(0);
    await body.next();
    expect(taken).toBe(1);
  });
});
