import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";

/** The parts of the library's writer that are replaced, and what they work on (services/decisions/0039). */
interface GrowingWriter {
  buffer: Uint8Array;
  pos: number;
  ensureCapacity(size: number): void;
  finish(): Uint8Array;
}

/** The most memory that is kept from one message to the next. */
const keptBytesMax = 256 * 1024;

let kept: Uint8Array = new Uint8Array(16 * 1024);
/** While a message is encoded: whether its writer has taken the kept memory. */
let state: "idle" | "free" | "taken" = "idle";

/**
 * The bytes of a message, as `toBinary` returns them, for callers who write them or copy them soon: small ones are part
 * of a larger piece of memory, which is held as long as one of its parts is.
 */
export const encodeMessage = <D extends DescMessage>(desc: D, message: MessageShape<D>): Uint8Array => {
  if (state !== "idle") return toBinary(desc, message);
  state = "free";
  try {
    return toBinary(desc, message);
  } finally {
    state = "idle";
  }
};

const writers = BinaryWriter.prototype as unknown as GrowingWriter;
// oxlint-disable-next-line typescript/unbound-method -- it is called with its writer.
const { finish } = writers;

writers.ensureCapacity = function (size) {
  if (this.pos + size > this.buffer.length) grow(this, this.pos + size);
};

writers.finish = function () {
  if (this.buffer !== kept) return finish.call(this);
  const bytes = Buffer.allocUnsafe(this.pos);
  bytes.set(kept.subarray(0, this.pos));
  // A plain view, because the methods of Buffer differ.
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
};

const grow = (writer: GrowingWriter, requiredBytes: number): void => {
  const { buffer, pos } = writer;
  if (state === "free") {
    state = "taken";
    writer.buffer = kept;
    if (requiredBytes <= kept.length) return;
  }
  let bytes = Math.max(writer.buffer.length, firstBytes);
  while (bytes < requiredBytes) bytes *= 2;
  const grown = new Uint8Array(bytes);
  grown.set(buffer.subarray(0, pos));
  if (writer.buffer === kept && bytes <= keptBytesMax) kept = grown;
  writer.buffer = grown;
};

/** What writers begin with that do not have the kept memory. */
const firstBytes = 128;
