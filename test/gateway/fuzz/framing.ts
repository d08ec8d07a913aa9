import { createHash, createHmac } from "node:crypto";
import { crc32 } from "node:zlib";

import { Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import type { SignatureBrand } from "../../../gateway/signature/brand.ts";
import { mutateBytes } from "./mutation.ts";
import type { Random } from "./random.ts";
import type { Draft } from "./request-grammar.ts";

/** Whose signature requests carry. */
export interface Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** A request as bytes, and whether its framing is whole. */
export interface Framed {
  readonly bytes: Buffer;
  /** False: something was changed after the request was put together, so it may never come to an end. */
  readonly isWhole: boolean;
}

type Mode = "hash" | "unsigned" | "presigned" | "signed-chunks" | "trailer" | "anonymous";

export const hash = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** Signs a request and writes it down; some are changed once more afterwards. */
export const frameRequest = (draft: Draft, host: string, key: Key, random: Random): Framed => {
  const isXml = draft.protocol === Protocol.REST_XML;
  const chunked: Mode[] = draft.isContent ? ["signed-chunks", "trailer", "trailer"] : [];
  const mode: Mode = random.chance(4)
    ? "anonymous"
    : random.one<Mode>(isXml ? ["hash", "unsigned", "presigned", ...chunked] : ["hash"]);
  const { headers, body } = sign(draft, host, key, mode, isXml, random);
  const target = draft.path + (draft.query.length === 0 ? "" : `?${queryText(draft.query)}`);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const isTransferChunked = body.length > 0 && random.chance(15);
  if (isTransferChunked) lines.push("transfer-encoding: chunked");
  else if (body.length > 0 || draft.method === "PUT" || draft.method === "POST")
    lines.push(`content-length: ${body.length}`);
  const head = `${draft.method} ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
  const bytes = Buffer.concat([Buffer.from(head, "latin1"), isTransferChunked ? transferChunks(body, random) : body]);
  if (!random.chance(8)) return { bytes, isWhole: true };
  const changed = mutateBytes(bytes, random);
  return { bytes: changed, isWhole: changed === bytes };
};

const sign = (
  draft: Draft,
  host: string,
  key: Key,
  mode: Mode,
  isXml: boolean,
  random: Random,
): { headers: Record<string, string>; body: Buffer } => {
  const brand = draft.spelling.dialect.signature;
  const prefix = brand.headerPrefix;
  const headers: Record<string, string> = { host, ...draft.headers };
  if (mode === "anonymous") return { headers, body: draft.body };
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
  const service = draft.spelling.dialect.signingNames[draft.api]?.[0] ?? "";
  const scope = [time.slice(0, 8), "us-east-1", service, brand.terminator].join("/");
  const isPresigned = mode === "presigned";
  if (isPresigned)
    draft.query.push(
      [`${brand.queryPrefix}Algorithm`, brand.algorithm],
      [`${brand.queryPrefix}Credential`, `${key.accessKeyId}/${scope}`],
      [`${brand.queryPrefix}Date`, time],
      [`${brand.queryPrefix}Expires`, random.one(["60", "604800", "1", "0"])],
      [`${brand.queryPrefix}SignedHeaders`, Object.keys(headers).toSorted().join(";")],
    );
  else headers[`${prefix}date`] ??= time;
  if (isXml && !isPresigned) headers[`${prefix}content-sha256`] = payloadName(mode, brand, draft.body);
  if (mode === "signed-chunks" || mode === "trailer") {
    headers[`${prefix}decoded-content-length`] ??= String(draft.body.length);
    headers["content-encoding"] ??= brand.chunkedCoding;
  }
  if (mode === "trailer") headers[`${prefix}trailer`] = `${prefix}checksum-crc32`;
  const payloadHash = headers[`${prefix}content-sha256`] ?? (isPresigned ? "UNSIGNED-PAYLOAD" : hash(draft.body));
  const names = Object.keys(headers).toSorted();
  const canonical = canonicalHead(draft, isXml, headers) + payloadHash;
  const signingKey = signingKeyOf(brand, key, scope);
  const seal = (...lines: string[]): string => createHmac("sha256", signingKey).update(lines.join("\n")).digest("hex");
  const signature = seal(brand.algorithm, time, scope, hash(canonical));
  if (isPresigned) {
    draft.query.push([`${brand.queryPrefix}Signature`, signature]);
    return { headers, body: draft.body };
  }
  headers["authorization"] =
    `${brand.algorithm} Credential=${key.accessKeyId}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  const pieces = chunkSizes(draft.body, random);
  if (mode === "trailer") return { headers, body: chunkBody(trailerChunks(pieces, draft.body, prefix), random) };
  if (mode !== "signed-chunks") return { headers, body: draft.body };
  let previous = signature;
  const chunks = [...pieces, Buffer.alloc(0)].map((piece) => {
    previous = seal(`${brand.algorithm}-PAYLOAD`, time, scope, previous, hash(""), hash(piece));
    return Buffer.concat([
      Buffer.from(`${piece.length.toString(16)};chunk-signature=${previous}\r\n`),
      piece,
      Buffer.from("\r\n"),
    ]);
  });
  return { headers, body: chunkBody(chunks, random) };
};

/** What is signed of a request, up to the name of its payload. */
export const canonicalHead = (draft: Draft, isXml: boolean, headers: Readonly<Record<string, string>>): string => {
  const names = Object.keys(headers).toSorted();
  return [
    draft.method,
    isXml ? draft.path : encodeSegments(draft.path),
    queryText(draft.query.toSorted(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)))),
    ...names.map((name) => `${name}:${headers[name]!.trim().replaceAll(/ +/g, " ")}`),
    "",
    names.join(";"),
    "",
  ].join("\n");
};

const signingKeys = new Map<string, Buffer>();

export const signingKeyOf = (brand: SignatureBrand, key: Key, scope: string): Buffer => {
  const name = `${brand.keySeed}${key.accessKeyId}/${scope}`;
  const known = signingKeys.get(name);
  if (known !== undefined) return known;
  const made = scope
    .split("/")
    .reduce(
      (secret, part) => createHmac("sha256", secret).update(part).digest(),
      Buffer.from(brand.keySeed + key.secretAccessKey),
    );
  signingKeys.set(name, made);
  return made;
};

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const payloadName = (mode: Mode, brand: SignatureBrand, body: Buffer): string => {
  if (mode === "hash") return hash(body);
  if (mode === "unsigned") return "UNSIGNED-PAYLOAD";
  return mode === "trailer" ? "STREAMING-UNSIGNED-PAYLOAD-TRAILER" : `${brand.streamingPrefix}HMAC-SHA256-PAYLOAD`;
};

const chunkSizes = (body: Buffer, random: Random): Buffer[] => {
  const size = random.one([8_192, 65_536, 8_191]);
  return Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
    body.subarray(index * size, (index + 1) * size),
  );
};

const trailerChunks = (pieces: readonly Buffer[], body: Buffer, prefix: string): Buffer[] => {
  const value = Buffer.alloc(4);
  value.writeUInt32BE(crc32(body));
  return [
    ...pieces.map((piece) =>
      Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]),
    ),
    Buffer.from(`0\r\n${prefix}checksum-crc32:${value.toString("base64")}\r\n\r\n`),
  ];
};

/** The chunks of a body, one in three with something wrong in it. */
const chunkBody = (chunks: readonly Buffer[], random: Random): Buffer => {
  const body = Buffer.concat(chunks);
  return random.chance(33) ? mutateBytes(body, random) : body;
};

const transferChunks = (body: Buffer, random: Random): Buffer => {
  const at = random.below(body.length) + 1;
  const pieces = [body.subarray(0, at), body.subarray(at)].filter((piece) => piece.length > 0);
  const framed = pieces.flatMap((piece) => [
    Buffer.from(`${piece.length.toString(16)}\r\n`),
    piece,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...framed, Buffer.from("0\r\n\r\n")]);
};

/** How each byte is written. */
const encodings = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return /[A-Za-z0-9\-._~]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
});

const encode = (text: string): string => {
  if (/^[A-Za-z0-9\-._~]*$/.test(text)) return text;
  let encoded = "";
  for (const byte of Buffer.from(text, "utf8")) encoded += encodings[byte];
  return encoded;
};

export const queryText = (query: readonly (readonly [string, string])[]): string =>
  query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");

const encodeSegments = (path: string): string => path.split("/").map(encode).join("/");
