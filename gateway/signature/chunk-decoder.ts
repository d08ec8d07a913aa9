import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";

import type { ServiceError } from "../../services/kit/faults/service-error.ts";
import type { ChunkChain, ChunkedPayload } from "./payload.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import { sha256 } from "./signing-key.ts";

/** The least size of a chunk that is not the last. */
const chunkBytesMin = 8_192;
const lineBytesMax = 1_024;
const trailersMax = 16;

const emptyHash = sha256("");

type State = "header" | "data" | "data-end" | "trailers" | "ended";

/**
 * Removes the chunk framing of a body, piece by piece, and verifies each chunk's signature at its end.
 *
 * ```
 * <size>[;chunk-signature=<hex>]CRLF <size bytes> CRLF   ... repeated, then
 * 0[;chunk-signature=<hex>]CRLF
 * [<trailer>:<value>CRLF ...  <prefix>trailer-signature:<hex>CRLF]
 * CRLF
 * ```
 *
 * Lines of trailers may end with LF alone, and an empty line may come before their signature, or at the end where there
 * is none: some clients do so.
 */
export class ChunkDecoder {
  readonly #payload: ChunkedPayload;
  readonly #trailers: Map<string, string>;
  #state: State = "header";
  /** The beginning of a line whose end has not arrived. */
  #line: Buffer = Buffer.alloc(0);
  #chunk = 0;
  #chunkSize = 0;
  /** Bytes of the current chunk, or of its line end, that have not arrived. */
  #remaining = 0;
  #received = 0;
  #hash: Hash | undefined;
  #signature = "";
  #previousSignature: string;
  #trailersSignature: string | undefined;
  /** An empty line came where the signature of the trailers was still missing. */
  #awaitsSignature = false;
  /** How much of the empty line has come that may follow trailers without a signature. */
  #extra = "";

  constructor(payload: ChunkedPayload, trailers: Map<string, string>) {
    this.#payload = payload;
    this.#trailers = trailers;
    this.#previousSignature = payload.chain?.seed ?? "";
  }

  /** The parts of the piece that belong to the body. Throws the refusals of malformed chunks and trailers. */
  *take(piece: Uint8Array): Generator<Uint8Array> {
    let at = 0;
    while (at < piece.length) {
      if (this.#state === "data") {
        const part = piece.subarray(at, at + this.#remaining);
        at += part.length;
        this.#takeData(part);
        yield part;
      } else if (this.#state === "data-end") {
        at = this.#takeDataEnd(piece, at);
      } else if (this.#state === "ended") {
        this.#takeExtra(piece[at++]);
      } else {
        at = this.#takeLine(piece, at);
      }
    }
  }

  /** Ends the body. Throws MALFORMED_TRAILER or WRONG_BODY_LENGTH unless it is complete. */
  end(): void {
    if (this.#awaitsSignature) throw malformedTrailer("Their signature is missing.");
    if (this.#state === "trailers" && this.#payload.hasTrailer) throw malformedTrailer("They are not complete.");
    if (this.#state !== "ended") throw this.#wrongLength();
    if (this.#extra === "\r") throw malformedChunk("There are bytes after its end.");
  }

  #takeExtra(byte: number | undefined): void {
    const { hasTrailer, chain } = this.#payload;
    this.#extra += String.fromCharCode(byte ?? 0);
    const isLine = hasTrailer && chain === undefined && "\r\n".startsWith(this.#extra);
    if (!isLine) throw malformedChunk("There are bytes after its end.");
  }

  #takeData(part: Uint8Array): void {
    this.#hash?.update(part);
    this.#remaining -= part.length;
    if (this.#remaining > 0) return;
    this.#checkChunk(this.#hash?.digest("hex") ?? emptyHash);
    this.#state = "data-end";
    this.#remaining = 2;
  }

  #takeDataEnd(piece: Uint8Array, at: number): number {
    if (piece[at] !== (this.#remaining === 2 ? 0x0d : 0x0a)) throw malformedChunk("A chunk is longer than its size.");
    this.#remaining -= 1;
    if (this.#remaining === 0) this.#state = "header";
    return at + 1;
  }

  /** Lines are short, so only a line that is split between pieces is copied. */
  #takeLine(piece: Uint8Array, at: number): number {
    const feed = piece.indexOf(0x0a, at);
    const end = feed < 0 ? piece.length : feed + 1;
    if (this.#line.length + end - at > lineBytesMax) throw this.#malformed("A line is too long.");
    const part = piece.subarray(at, end);
    if (feed < 0) {
      this.#line = Buffer.concat([this.#line, part]);
      return end;
    }
    const line =
      this.#line.length === 0
        ? Buffer.from(part.buffer, part.byteOffset, part.length)
        : Buffer.concat([this.#line, part]);
    this.#line = Buffer.alloc(0);
    const hasReturn = line.at(-2) === 0x0d;
    if (!hasReturn && this.#state === "header") throw this.#malformed("A line does not end with CR and LF.");
    const text = line.toString("latin1", 0, line.length - (hasReturn ? 2 : 1));
    if (this.#state === "header") this.#takeHeader(text);
    else this.#takeTrailer(text);
    return end;
  }

  #takeHeader(line: string): void {
    const [size = "", ...extensions] = line.split(";");
    if (!/^[0-9a-fA-F]{1,13}$/.test(size)) throw malformedChunk("A chunk's size is not a hexadecimal number.");
    const bytes = Number.parseInt(size, 16);
    if (bytes > 0 && this.#chunk > 0 && this.#chunkSize < chunkBytesMin)
      throw refusal(ErrorReason.CHUNK_TOO_SMALL, { chunk: String(this.#chunk), size: String(this.#chunkSize) });
    if (bytes > this.#payload.decodedLength - this.#received) throw this.#wrongLength(this.#received + bytes);
    this.#chunk += 1;
    this.#chunkSize = bytes;
    this.#received += bytes;
    this.#remaining = bytes;
    if (this.#payload.chain !== undefined) this.#signature = readChunkSignature(extensions);
    if (bytes > 0) {
      if (this.#payload.chain !== undefined) this.#hash = createHash("sha256");
      this.#state = "data";
      return;
    }
    if (this.#received !== this.#payload.decodedLength) throw this.#wrongLength();
    this.#checkChunk(emptyHash);
    this.#state = "trailers";
  }

  #takeTrailer(line: string): void {
    const { hasTrailer, trailerNames, chain } = this.#payload;
    if (line === "") {
      if (hasTrailer && chain !== undefined && this.#trailersSignature === undefined && !this.#awaitsSignature) {
        this.#awaitsSignature = true;
        return;
      }
      if (hasTrailer) this.#checkTrailers(chain);
      this.#state = "ended";
      return;
    }
    if (!hasTrailer) throw malformedChunk("There are trailers where none may be.");
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    const value = line.slice(colon + 1).replaceAll(/^[ \t]+|[ \t]+$/g, "");
    if (this.#trailersSignature !== undefined) throw malformedTrailer("Their signature must come last.");
    if (chain !== undefined && name === chain.trailerSignatureName) {
      this.#trailersSignature = trimPadding(value);
      this.#awaitsSignature = false;
      return;
    }
    if (this.#awaitsSignature) throw malformedTrailer("Their signature is missing.");
    if (!trailerNames.includes(name)) throw malformedTrailer("One was not announced.");
    if (this.#trailers.has(name)) throw malformedTrailer("One is given twice.");
    if (this.#trailers.size === trailersMax) throw malformedTrailer("There are too many.");
    this.#trailers.set(name, value);
  }

  #checkChunk(hash: string): void {
    const { chain } = this.#payload;
    if (chain === undefined) return;
    const { chunkAlgorithm, timestamp, scope, key } = chain;
    const text = [chunkAlgorithm, timestamp, scope, this.#previousSignature, emptyHash, hash].join("\n");
    if (!key.matches(text, this.#signature))
      throw refusal(ErrorReason.CHUNK_SIGNATURE_MISMATCH, { chunk: String(this.#chunk) });
    this.#previousSignature = this.#signature;
  }

  #checkTrailers(chain: ChunkChain | undefined): void {
    if (this.#payload.trailerNames.some((name) => !this.#trailers.has(name)))
      throw malformedTrailer("One that was announced is missing.");
    if (chain === undefined) return;
    if (this.#trailersSignature === undefined) throw malformedTrailer("Their signature is missing.");
    const block = [...this.#trailers].map(([name, value]) => `${name}:${value}\n`).join("");
    const { trailerAlgorithm, timestamp, scope, key } = chain;
    const hash = sha256(Buffer.from(block, "latin1"));
    const text = [trailerAlgorithm, timestamp, scope, this.#previousSignature, hash].join("\n");
    if (!key.matches(text, this.#trailersSignature))
      throw refusal(ErrorReason.CHUNK_SIGNATURE_MISMATCH, { chunk: "trailer" });
  }

  #malformed(reason: string): ServiceError {
    return this.#state === "trailers" && this.#payload.hasTrailer ? malformedTrailer(reason) : malformedChunk(reason);
  }

  #wrongLength(received = this.#received - this.#remainingData()): ServiceError {
    const expected = String(this.#payload.decodedLength);
    return refusal(ErrorReason.WRONG_BODY_LENGTH, { expected, received: String(received) });
  }

  #remainingData(): number {
    return this.#state === "data" ? this.#remaining : 0;
  }
}

const readChunkSignature = (extensions: readonly string[]): string => {
  const [extension = ""] = extensions;
  const signature = /^chunk-signature=([0-9a-fA-F]+\**)$/.exec(extension.trim())?.[1];
  if (extensions.length !== 1 || signature === undefined) throw malformedChunk("A chunk has no signature.");
  return trimPadding(signature);
};

/** Signatures of varying length are padded with asterisks, so that the length of the body is known in advance. */
const trimPadding = (signature: string): string => signature.replace(/\*+$/, "");

const malformedChunk = (problem: string): ServiceError => refusal(ErrorReason.MALFORMED_CHUNK, { problem });

const malformedTrailer = (problem: string): ServiceError => refusal(ErrorReason.MALFORMED_TRAILER, { problem });
