import { describe, expect, test } from "vitest";

import { normalize } from "../../../services/customer-profile/domain/normalization.ts";

describe("phone numbers compare by their digits", () => {
  test.each([
    // text, normal form
    ["+15551234567", "5551234567"],
    ["(555)-123-4567", "5551234567"],
    ["1 555 123 4567", "5551234567"],
    ["0015551234567", "5551234567"],
    ["+49 30 901820", "4930901820"],
    ["0049 30 901820", "4930901820"],
    ["011 49 30 901820", "4930901820"],
    ["030 901820", "030901820"],
    ["112", "112"],
    ["+1 123 456 7890", "11234567890"],
    ["+１５５５１２３４５６７", "5551234567"],
    ["Front Desk", "front desk"],
  ])("%s is %s", (text, expected) => {
    expect(normalize("PHONE_NUMBER", text)).toBe(expected);
  });
});

describe("e-mail addresses compare without case", () => {
  test.each([
    ["Ann.Lee@Example.COM", "ann.lee@example.com"],
    [" ann@example.com ", "ann@example.com"],
    ["ANN+shop@example.com", "ann+shop@example.com"],
  ])("%s is %s", (text, expected) => {
    expect(normalize("EMAIL_ADDRESS", text)).toBe(expected);
  });
});

describe("names compare without case and surplus space", () => {
  test.each([
    ["Ann  Mary Lee", "ann mary lee"],
    ["ÉMILE Zola", "émile zola"],
    ["E\u0301mile Zola", "émile zola"],
  ])("%s is %s", (text, expected) => {
    expect(normalize("NAME", text)).toBe(expected);
  });
});

describe("texts compare in time that grows with them, and equal ones stay equal", () => {
  const marks = "\u0301\u0327".repeat(15);
  const ordered = `${"\u0327".repeat(15)}${"\u0301".repeat(15)}`;
  const first = `${"\u0327".repeat(15)}${"\u0301".repeat(14)}`;
  const joiner = "\u034f";
  const kana = "\uff9e\u0301".repeat(15);

  // comparison, what it is, text, its normal form
  test.each([
    ["NAME", "a few marks", "a\u0301\u0327", "\u00e1\u0327"],
    ["NAME", "the same marks in order", "a\u0327\u0301", "\u00e1\u0327"],
    [
      "NAME",
      "250,000 marks in turns",
      `A${marks.repeat(8_333)}`,
      `\u00e1${first}${joiner}${`${ordered}${joiner}`.repeat(8_332)}`,
    ],
    [
      "EMAIL_ADDRESS",
      "as many of an address",
      `A${marks.repeat(8_333)}`,
      `\u00e1${first}${joiner}${`${ordered}${joiner}`.repeat(8_332)}`,
    ],
    [
      "NAME",
      "30 characters that become marks, and others",
      `${kana}x`,
      `${"\u3099".repeat(15)}${"\u0301".repeat(15)}${joiner}x`,
    ],
    [
      "NAME",
      "a ligature of 18 characters",
      "\ufdfa",
      "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 \u0639\u0644\u064a\u0647 \u0648\u0633\u0644\u0645",
    ],
    ["NAME", "1,001 of them", "\ufdfa".repeat(1_001), "\ufdfa".repeat(1_001)],
  ] as const)("%s: %s", (comparison, _what, text, expected) => {
    expect(normalize(comparison, text) === expected).toBe(true);
  });
});

describe("numbers compare by value", () => {
  test.each([
    ["007", "7"],
    ["7.0", "7"],
    ["+7.50", "7.5"],
    ["-0", "0"],
    ["-1.20", "-1.2"],
    ["0", "0"],
    ["1e3", "1e3"],
    ["12345678901234567890.10", "12345678901234567890.1"],
  ])("%s is %s", (text, expected) => {
    expect(normalize("NUMBER", text)).toBe(expected);
  });

  const zeros = "0".repeat(250_000);

  // what it is, text, its normal form
  test.each([
    ["many zeros at the beginning", `${zeros}7`, "7"],
    ["many zeros at the end", `1.5${zeros}`, "1.5"],
    ["many zeros in between", `1.${zeros}5`, `1.${zeros}5`],
    ["no number after many zeros", `${zeros}x`, `${zeros}x`],
    ["no number after many decimals", `1.5${zeros}x`, `1.5${zeros}x`],
  ])("in time that grows with the text: %s", (_what, text, expected) => {
    expect(normalize("NUMBER", text) === expected).toBe(true);
  });
});

test("texts compare as they are", () => {
  expect(normalize("STRING", " Ann ")).toBe(" Ann ");
});
