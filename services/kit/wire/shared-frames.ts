/**
 * The frames of a shared connection, on which the small calls between two processes run at the same time. A frame is
 * one of Connect's streams (`frame-parser.ts`) whose flags are its kind and whose message is:
 *
 * - four bytes: the number of the call, chosen by the caller;
 * - four bytes: the length of the head;
 * - the head in Latin-1: a first text (the path of a call, the status of an answer), then the names and values of the
 *   headers, all separated by zero bytes, which no header can contain;
 * - the body, to the end: the message of a unary call, or the frames of a stream in the Connect protocol.
 */
import type { IncomingHttpHeaders } from "node:http";

import type { Frame } from "./frame-parser.ts";
import { malformed } from "./protocol-error.ts";

/** The first bytes of a shared connection. No HTTP method begins with its first three letters. */
export const sharedPreface = Buffer.from("SHARED/1\n");

/** What a frame is. The first two are sent by the caller, the others by the server. */
export const frameKinds = {
  /** A call with its whole request. */
  call: 1,
  /** Nobody waits for the answer of the call any more. */
  cancel: 2,
  /** A whole answer, or the refusal of a unary call. */
  answer: 3,
  /** The answer is too large for the shared connection: it is sent on one that asks for the name in the head. */
  elsewhere: 4,
  /** The server stops: the connection ends after the calls that run on it. */
  leave: 5,
} as const;

/** A frame that was received. */
export interface SharedFrame {
  readonly kind: number;
  readonly call: number;
  /** The first text of the head. */
  readonly first: string;
  /** By lower-case name. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Larger requests and answers have connections of their own. */
export const sharedBytesMax = 128 * 1024;

const separator = "\0";
const lengthsBytes = 8;
const frameHeaderBytes = 5;

/**
 * Encodes a frame. `lines` are names and values; the body's parts are copied. Throws TypeError for a broken header. The
 * memory is asked for when nothing can fail any more.
 */
export const encodeSharedFrame = (
  kind: number,
  call: number,
  first: string,
  lines: readonly string[],
  body: readonly Uint8Array[],
  allocate: (bytes: number) => Buffer = Buffer.allocUnsafe,
): Buffer => {
  let head = first;
  for (const text of lines) head += separator + checked(text);
  let bodyBytes = 0;
  for (const part of body) bodyBytes += part.length;
  const size = lengthsBytes + head.length + bodyBytes;
  const bytes = allocate(frameHeaderBytes + size);
  bytes[0] = kind;
  bytes.writeUInt32BE(size, 1);
  bytes.writeUInt32BE(call, frameHeaderBytes);
  bytes.writeUInt32BE(head.length, frameHeaderBytes + 4);
  let offset = frameHeaderBytes + lengthsBytes;
  offset += bytes.write(head, offset, "latin1");
  for (const part of body) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
};

/** Decodes a frame. Throws ProtocolError if it is not one of a shared connection. */
export const decodeSharedFrame = ({ flags, body }: Frame): SharedFrame => {
  if (body.length < lengthsBytes) throw malformed("A frame is too short.");
  const headEnd = lengthsBytes + body.readUInt32BE(4);
  if (headEnd > body.length) throw malformed("A frame is shorter than its head.");
  const [first = "", ...lines] = body.toString("latin1", lengthsBytes, headEnd).split(separator);
  const headers: IncomingHttpHeaders = {};
  for (let at = 0; at + 1 < lines.length; at += 2) headers[lines[at]!] = lines[at + 1]!;
  return { kind: flags, call: body.readUInt32BE(0), first, headers, body: body.subarray(headEnd) };
};

/** Tokens are long and repeated, so those that were searched are not searched again. */
const goodTexts = new Set<string>();
const goodTextsMax = 128;
const longLength = 256;

const checked = (text: string): string => {
  const isLong = text.length >= longLength;
  if (isLong && goodTexts.has(text)) return text;
  if (broken.test(text)) throw new TypeError("a header has characters that headers cannot have");
  if (isLong) {
    if (goodTexts.size === goodTextsMax) goodTexts.clear();
    goodTexts.add(text);
  }
  return text;
};

const broken = /[^\t\x20-\x7e\x80-\xff]/;
