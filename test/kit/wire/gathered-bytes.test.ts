import { describe, expect, it } from "vitest";

import { GatheredBytes } from "../../../services/kit/wire/gathered-bytes.ts";

const gathered = (pieces: readonly Uint8Array[]): GatheredBytes => {
  const bytes = new GatheredBytes();
  for (const piece of pieces) bytes.add(piece);
  return bytes;
};

describe("gathered bytes", () => {
  it("keep their order, whatever the sizes of their pieces", () => {
    const pieces = [1, 3, 5_000, 2, 4_096, 4_095, 16_384, 7, 12_000, 4_000].map((size, index) =>
      Buffer.alloc(size, index),
    );
    const bytes = gathered(pieces);
    expect(bytes.size).toBe(45_588);
    expect(bytes.take().equals(Buffer.concat(pieces))).toBe(true);
    expect(bytes.size).toBe(0);
  });

  it("of one piece are that piece, not a copy", () => {
    const piece = Buffer.from("whole");
    expect(gathered([piece]).take().buffer).toBe(piece.buffer);
  });

  it("of none are empty", () => {
    expect(gathered([]).take()).toEqual(Buffer.alloc(0));
    expect(gathered([Buffer.alloc(0)]).takeParts()).toEqual([]);
  });

  it("are held in few parts, however small their pieces are", () => {
    const pieces = Array.from({ length: 100_000 }, () => Buffer.from("x"));
    expect(gathered(pieces).takeParts().length).toBe(8);
  });
});
