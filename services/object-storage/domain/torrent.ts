/** A value of a torrent file: a number, a text, bytes, or a dictionary. */
type Bencoded = number | string | Uint8Array | { readonly [name: string]: Bencoded };

const pieceBytesMin = 256 * 1024;
/** Pieces of a torrent up to which they are as small as they may be; larger ones then, so that the file stays small. */
const piecesMax = 1024;

/** The size of the pieces of content: a power of two, so large that there are not too many. */
export const pieceBytesOf = (sizeBytes: number): number => {
  let pieceBytes = pieceBytesMin;
  while (sizeBytes > pieceBytes * piecesMax) pieceBytes *= 2;
  return pieceBytes;
};

/**
 * The torrent file (BEP 3) of content with these SHA-1 digests of its pieces, one after the other. It names no tracker;
 * the same content under the same name has the same file.
 */
export const torrentOf = (key: string, sizeBytes: number, digests: Uint8Array): Uint8Array =>
  bencode({
    info: {
      length: sizeBytes,
      name: key.split("/").findLast((part) => part !== "") ?? "object",
      "piece length": pieceBytesOf(sizeBytes),
      pieces: digests,
    },
  });

/** Names of a dictionary are in the order of their bytes. */
const bencode = (value: Bencoded): Uint8Array => {
  if (typeof value === "number") return Buffer.from(`i${value}e`);
  if (typeof value === "string") return bencode(Buffer.from(value));
  if (value instanceof Uint8Array) return Buffer.concat([Buffer.from(`${value.length}:`), value]);
  const names = Object.keys(value).toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  const members = names.flatMap((name) => [bencode(name), bencode(value[name] ?? "")]);
  return Buffer.concat([Buffer.from("d"), ...members, Buffer.from("e")]);
};
