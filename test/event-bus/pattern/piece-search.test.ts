import { describe, expect, test } from "vitest";

import { findPiece } from "../../../services/event-bus/pattern/piece-search.ts";

const repeated = (count: number): string => "ab".repeat(count / 2);

describe("findPiece", () => {
  // text | piece | from | where
  test.each([
    ["", "", 0, 0],
    ["abc", "", 2, 2],
    ["abcabc", "abc", 1, 3],
    ["abcabc", "abd", 0, -1],
  ])("finds in %j the piece %j from %i at %i", (text, piece, from, expected) => {
    expect(findPiece(text, piece, from)).toBe(expected);
  });

  // text | piece | from | where
  test.each([
    { text: `${repeated(200_000)}x`, piece: `${repeated(3_000)}x`, from: 0, expected: 197_000 },
    { text: `${repeated(200_000)}x`, piece: `${repeated(3_000)}x`, from: 197_001, expected: -1 },
    { text: repeated(200_000), piece: `bb${repeated(3_000)}`, from: 10, expected: -1 },
    { text: repeated(200_000), piece: `b${repeated(3_000)}`, from: 10, expected: 11 },
    { text: repeated(200_000), piece: repeated(3_000), from: 11, expected: 12 },
    { text: `aab${"aab".repeat(60_000)}aaab`, piece: `${"aab".repeat(1_000)}aaab`, from: 0, expected: 177_003 },
  ])("finds a long piece that repeats itself at $expected", ({ text, piece, from, expected }) => {
    expect(findPiece(text, piece, from)).toBe(expected);
    expect(text.indexOf(piece, from)).toBe(expected);
  });

  test("compares no character again at each place: the platform's search takes 13 seconds here", () => {
    const text = "a".repeat(240_000);
    const pieces = Array.from({ length: 100 }, (_, index) => `${"a".repeat(1_900 + index)}b${"a".repeat(1_950)}`);
    expect(pieces.map((piece) => findPiece(text, piece, 0))).toEqual(Array(100).fill(-1));
  });
});
