import { Code } from "@connectrpc/connect";

import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import { isLent } from "./lent-memory.ts";
import { countPassingBytes } from "./passing-bytes.ts";
import type { PayloadFinder } from "./payload.ts";
import { ProtocolError } from "./protocol-error.ts";

/** One frame of a stream of messages: in gRPC and in Connect a byte of flags, four of length, and the message. */
export interface Frame {
  readonly flags: number;
  readonly body: Buffer;
  /** Of a frame that was cut: the payload so far; `body` then has the other members. */
  readonly payload?: Buffer;
}

/** The message is compressed with the stream's encoding. */
export const compressedFlag = 0b01;

/** The frame is the end of a Connect stream: instead of a message, how the call ended. */
export const endStreamFlag = 0b10;

const noBytes = Buffer.alloc(0);

/** Bytes before each message. */
const frameHeaderBytes = 5;

/** Refuses a message over the limit. */
export const tooLarge = (limitBytes: number): ProtocolError =>
  new ProtocolError(Code.ResourceExhausted, `The message is larger than ${limitBytes} bytes.`, FaultRole.TOO_LARGE, {
    limit_bytes: String(limitBytes),
  });

/**
 * Parses chunks into frames. A frame within one chunk is a view of it; one that spans chunks is gathered in one buffer,
 * which is allocated after its length was found to be within the limit.
 */
export class FrameParser {
  readonly #limitBytes: number;
  readonly #header = Buffer.alloc(frameHeaderBytes);
  #headerFilled = 0;
  #body: Buffer | undefined;
  #bodyFilled = 0;
  /** The remaining bytes of a payload that is passed on in pieces. */
  #payloadLeft = 0;
  readonly #findPayload: PayloadFinder | undefined;

  /** With a finder, a large frame that is not compressed is passed on in pieces as it arrives. */
  constructor(limitBytes: number, findPayload?: PayloadFinder) {
    this.#limitBytes = limitBytes;
    this.#findPayload = findPayload;
  }

  /** True if the last chunk ended within a frame. */
  get isWithinFrame(): boolean {
    return this.#headerFilled > 0;
  }

  /** Appends the frames that this chunk completes. Throws if one is over the limit. */
  push(chunk: Buffer, frames: Frame[]): void {
    let offset = 0;
    while (offset < chunk.length) {
      if (this.#payloadLeft > 0) {
        offset = this.#takePayload(chunk, offset, frames);
        continue;
      }
      if (this.#body === undefined) {
        offset = this.#takeHeader(chunk, offset);
        if (this.#headerFilled < frameHeaderBytes) return;
        const length = this.#bodyLength();
        if (chunk.length - offset >= length) {
          frames.push({ flags: this.#header[0] as number, body: chunk.subarray(offset, offset + length) });
          this.#headerFilled = 0;
          offset += length;
          continue;
        }
        if (this.#cut(chunk.subarray(offset), length, frames)) return;
        this.#body = Buffer.allocUnsafeSlow(length);
        this.#bodyFilled = 0;
      }
      offset = this.#takeBody(this.#body, chunk, offset, frames);
    }
  }

  #bodyLength(): number {
    const length = this.#header.readUInt32BE(1);
    if (length > this.#limitBytes) throw tooLarge(this.#limitBytes);
    return length;
  }

  #takeHeader(chunk: Buffer, offset: number): number {
    const taken = Math.min(frameHeaderBytes - this.#headerFilled, chunk.length - offset);
    chunk.copy(this.#header, this.#headerFilled, offset, offset + taken);
    this.#headerFilled += taken;
    return offset + taken;
  }

  /** Starts to pass a frame on in pieces; false if it must be gathered. */
  #cut(opening: Buffer, length: number, frames: Frame[]): boolean {
    if (this.#findPayload === undefined || this.#header[0] !== 0) return false;
    const place = this.#findPayload(opening, length);
    if (place === undefined) return false;
    frames.push({ flags: 0, body: opening.subarray(0, place.headEnd), payload: opening.subarray(place.start) });
    this.#payloadLeft = length - opening.length;
    return true;
  }

  #takePayload(chunk: Buffer, offset: number, frames: Frame[]): number {
    const payload = chunk.subarray(offset, offset + this.#payloadLeft);
    frames.push({ flags: 0, body: noBytes, payload });
    this.#payloadLeft -= payload.length;
    if (this.#payloadLeft === 0) this.#headerFilled = 0;
    return offset + payload.length;
  }

  #takeBody(body: Buffer, chunk: Buffer, offset: number, frames: Frame[]): number {
    const taken = Math.min(body.length - this.#bodyFilled, chunk.length - offset);
    chunk.copy(body, this.#bodyFilled, offset, offset + taken);
    this.#bodyFilled += taken;
    if (this.#bodyFilled === body.length) {
      frames.push({ flags: this.#header[0] as number, body });
      this.#body = undefined;
      this.#headerFilled = 0;
    }
    return offset + taken;
  }
}

/** The buffers of a frame: the header and the small parts after it in one, large parts unchanged. */
export const frameParts = (flags: number, parts: readonly Uint8Array[], byteLength: number): readonly Uint8Array[] => {
  const last = parts.at(-1);
  // Lent memory is freed without a collection.
  if (last === undefined || !isLent(last)) countPassingBytes(byteLength);
  const [first, ...others] = parts;
  return first !== undefined && first.length <= joinedBytesMax
    ? [frameHead(flags, byteLength, first), ...others]
    : [frameHead(flags, byteLength, noBytes), ...parts];
};

/** The header of a frame with the beginning of its message. */
export const frameHead = (flags: number, byteLength: number, beginning: Uint8Array): Buffer => {
  const head = Buffer.allocUnsafe(frameHeaderBytes + beginning.length);
  head[0] = flags;
  head.writeUInt32BE(byteLength, 1);
  head.set(beginning, frameHeaderBytes);
  return head;
};

/** Up to this size a copy is cheaper than one more buffer in a write. */
const joinedBytesMax = 4 * 1024;
