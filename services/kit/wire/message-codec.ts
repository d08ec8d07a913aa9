import type { DescField, DescMessage, Message, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, isFieldSet, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";

import { encodeMessage } from "./encode-message.ts";
import type { Frame } from "./frame-parser.ts";
import type { PayloadFinder } from "./payload.ts";
import { payloadField, payloadFinder } from "./payload.ts";

/** A message as bytes: the parts follow each other on the wire and are never joined. */
export interface EncodedMessage {
  readonly parts: readonly Uint8Array[];
  /** The length of all parts together. */
  readonly byteLength: number;
}

/** Writes and reads the messages of one type. */
export interface MessageCodec<D extends DescMessage = DescMessage> {
  readonly desc: DescMessage;
  /** Encodes a message or the values of one. A large bytes member is passed on, not copied. */
  encode(message: MessageInitShape<D>): EncodedMessage;
  /** Bytes members of the result are views of the given bytes. Throws if the bytes are not such a message. */
  decode(bytes: Uint8Array): MessageShape<D>;
  /** Decodes a frame of a stream, whole or cut. */
  decodeFrame(frame: Frame): MessageShape<D>;
  /** What comes before the bytes of a payload in a message of nothing else. Throws if the type has none. */
  payloadHead(bytes: number): Uint8Array;
  /** Finds the payload member in the first bytes of a message; undefined: the type has none. */
  readonly findPayload: PayloadFinder | undefined;
}

/** Smaller messages are copied in the pool of Buffer, which is cheaper than a buffer of its own for their bytes. */
const bulkBytesMin = 4 * 1024;

const noBytes = new Uint8Array(0);
const codecs = new WeakMap<DescMessage, MessageCodec>();

/** The codec of a message type, created once. */
export const messageCodec = <D extends DescMessage>(desc: D): MessageCodec<D> => {
  let codec = codecs.get(desc);
  if (codec === undefined) {
    codec = makeCodec(desc);
    codecs.set(desc, codec);
  }
  return codec;
};

const makeCodec = (desc: DescMessage): MessageCodec => {
  const bulk = bulkField(desc);
  const payload = payloadField(desc);
  // A plain view, so that bytes members are Uint8Array and not Buffer, whose methods differ.
  const decode = (bytes: Uint8Array): Message => fromBinary(desc, plainView(bytes));
  const encodeWhole = (message: Message): EncodedMessage => {
    const bytes = encodeMessage(desc, message);
    return { parts: [bytes], byteLength: bytes.length };
  };
  return {
    desc,
    encode: (init) => {
      const message = create(desc, init);
      if (bulk === undefined || !isFieldSet(message, bulk)) return encodeWhole(message);
      const bytes = (message as unknown as Record<string, unknown>)[bulk.localName] as Uint8Array;
      return bytes.length < bulkBytesMin ? encodeWhole(message) : encodeApart(desc, message, bulk, bytes);
    },
    decode,
    decodeFrame: (frame) => {
      const message = frame.body.length === 0 ? create(desc) : decode(frame.body);
      if (frame.payload !== undefined && payload !== undefined)
        (message as unknown as Record<string, unknown>)[payload.localName] = plainView(frame.payload);
      return message;
    },
    payloadHead: (bytes) => {
      if (payload === undefined) throw new Error(`${desc.typeName} has no payload`);
      return memberHead(noBytes, payload, bytes);
    },
    findPayload: payload === undefined ? undefined : payloadFinder(payload),
  };
};

const plainView = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The only bytes member of a message that has exactly one. */
const bulkField = (desc: DescMessage): DescField | undefined => {
  const candidates = desc.fields.filter((field) => field.fieldKind === "scalar" && field.scalar === ScalarType.BYTES);
  const [only] = candidates;
  return candidates.length === 1 && only?.oneof === undefined ? only : undefined;
};

/** The other members first, then the bulk member's tag, length and bytes: readers accept any order. */
const encodeApart = (desc: DescMessage, message: Message, bulk: DescField, bytes: Uint8Array): EncodedMessage => {
  const members = message as unknown as Record<string, unknown>;
  members[bulk.localName] = noBytes;
  let others: Uint8Array;
  try {
    others = encodeMessage(desc, message);
  } finally {
    members[bulk.localName] = bytes;
  }
  const head = memberHead(others, bulk, bytes.length);
  return { parts: [head, bytes], byteLength: head.length + bytes.length };
};

/** The tag and the length of a bytes member, after the other members. */
const memberHead = (others: Uint8Array, { number }: DescField, bytes: number): Uint8Array => {
  const head = Buffer.allocUnsafe(others.length + 2 * varintBytesMax);
  head.set(others);
  const tagEnd = writeVarint(head, (number << 3) | WireType.LengthDelimited, others.length);
  return plainView(head.subarray(0, writeVarint(head, bytes, tagEnd)));
};

/** Of a number below 2^32. */
const varintBytesMax = 5;

/** Writes a number below 2^32 from a place on; returns the place after it. */
const writeVarint = (into: Uint8Array, number: number, begin: number): number => {
  let at = begin;
  let left = number >>> 0;
  for (; left > 0x7f; left >>>= 7) into[at++] = (left & 0x7f) | 0x80;
  into[at++] = left;
  return at;
};
