/** A range of bytes of an object; both are inside. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** Where reading an object has to begin so that the first record of a span is found. */
export const readingStart = ({ start }: ByteSpan, recordDelimiter: Buffer): number =>
  Math.max(0, start - recordDelimiter.length);

/**
 * The bytes of the records that begin in a span, as a whole each. The pieces begin at `readingStart` of the span; no
 * more of them are asked for after the last record.
 */
export async function* recordsInSpan(
  pieces: AsyncIterable<Buffer>,
  span: ByteSpan,
  recordDelimiter: Buffer,
): AsyncGenerator<Buffer> {
  let hasBegun = span.start === 0;
  let offset = readingStart(span, recordDelimiter);
  // A delimiter may lie in two pieces.
  let kept: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    let bytes = kept.length === 0 ? piece : Buffer.concat([kept, piece]);
    if (!hasBegun) {
      const found = bytes.indexOf(recordDelimiter);
      const skipped =
        found === -1 ? Math.max(0, bytes.length - recordDelimiter.length + 1) : found + recordDelimiter.length;
      hasBegun = found !== -1;
      bytes = bytes.subarray(skipped);
      offset += skipped;
      if (!hasBegun) {
        kept = bytes;
        continue;
      }
      if (offset > span.end) return;
    }
    // The first record that begins after the span follows the first delimiter that ends after it.
    const from = Math.max(0, span.end + 1 - recordDelimiter.length - offset);
    const last = from < bytes.length ? bytes.indexOf(recordDelimiter, from) : -1;
    if (last !== -1) {
      yield bytes.subarray(0, last + recordDelimiter.length);
      return;
    }
    const whole = Math.max(0, bytes.length - recordDelimiter.length + 1);
    yield bytes.subarray(0, whole);
    offset += whole;
    kept = bytes.subarray(whole);
  }
  if (hasBegun && kept.length > 0) yield kept;
}
