/** Consecutive bytes of content or of a blob. */
export interface ByteRange {
  readonly offsetBytes: number;
  readonly lengthBytes: number;
}

/** The bytes that a Range header selects. */
export type RangeSelection = { readonly kind: "whole" } | { readonly kind: "unsatisfiable" } | RangeFound;

interface RangeFound extends ByteRange {
  readonly kind: "range";
}

/**
 * Parses a Range header. One range in bytes is honoured and clipped to the content. Any other header, for example with
 * several ranges, another unit or a backward range, selects the whole content.
 */
export const parseRange = (header: string, sizeBytes: number): RangeSelection => {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header.trim());
  const [first, last] = [match?.[1] ?? "", match?.[2] ?? ""];
  if (first === "" && last === "") return { kind: "whole" };
  if (first === "") return suffix(Number(last), sizeBytes);
  const offsetBytes = Number(first);
  const end = last === "" ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (last !== "" && Number(last) < offsetBytes) return { kind: "whole" };
  if (offsetBytes >= sizeBytes) return { kind: "unsatisfiable" };
  return { kind: "range", offsetBytes, lengthBytes: end - offsetBytes + 1 };
};

const suffix = (count: number, sizeBytes: number): RangeSelection => {
  if (count === 0) return { kind: "unsatisfiable" };
  if (sizeBytes === 0) return { kind: "whole" };
  const lengthBytes = Math.min(count, sizeBytes);
  return { kind: "range", offsetBytes: sizeBytes - lengthBytes, lengthBytes };
};

/** The Content-Range header of a part of content. */
export const contentRange = (range: ByteRange, sizeBytes: number): string =>
  `bytes ${range.offsetBytes}-${range.offsetBytes + range.lengthBytes - 1}/${sizeBytes}`;

/** Parses the stricter range of a part copy, `bytes=first-last`; undefined if it is malformed. */
export const parseCopyRange = (header: string): { readonly first: number; readonly last: number } | undefined => {
  const match = /^bytes=(\d+)-(\d+)$/.exec(header);
  if (match === null) return undefined;
  const [first, last] = [Number(match[1]), Number(match[2])];
  return first <= last ? { first, last } : undefined;
};
