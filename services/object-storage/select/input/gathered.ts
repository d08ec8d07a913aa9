/** Bytes of a piece from which on it is passed on alone. */
const pieceBytesMin = 64 * 1024;

/**
 * The same bytes, with small pieces joined after the first ones: what is read of a record that has not ended is looked
 * at again with each piece, so that pieces must grow with what was read.
 */
export async function* gathered(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let small: Buffer[] = [];
  let smallBytes = 0;
  let readBytes = 0;
  for await (const piece of pieces) {
    small.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    smallBytes += piece.length;
    readBytes += piece.length;
    if (smallBytes < Math.min(pieceBytesMin, readBytes / 16)) continue;
    yield joined(small);
    small = [];
    smallBytes = 0;
  }
  if (smallBytes > 0) yield joined(small);
}

const joined = (pieces: readonly Buffer[]): Buffer => {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
};
