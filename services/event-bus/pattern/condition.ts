import type { CidrBlock } from "./addresses.ts";
import { addressKey, leadingBits, parseAddress } from "./addresses.ts";
import { endsIgnoringCase, equalsIgnoringCase, startsIgnoringCase } from "./letters.ts";
import { comparableNumber } from "./numbers.ts";
import type { Wildcard } from "./wildcard.ts";
import { matchesWildcard } from "./wildcard.ts";

/** One alternative of a condition. A condition holds if any of its alternatives does. */
export type Alternative =
  | { readonly kind: "text"; readonly text: string }
  /** A text that is an IP address; equal to the address's other spellings. */
  | { readonly kind: "address"; readonly key: string }
  | { readonly kind: "number"; readonly value: number }
  /** A number that a double cannot represent; compared as text. */
  | { readonly kind: "number-text"; readonly text: string }
  | { readonly kind: "keyword"; readonly keyword: "true" | "false" | "null" }
  | { readonly kind: "prefix"; readonly text: string; readonly ignoresCase: boolean }
  | { readonly kind: "suffix"; readonly text: string; readonly ignoresCase: boolean }
  | { readonly kind: "equals-ignore-case"; readonly text: string }
  | { readonly kind: "wildcard"; readonly wildcard: Wildcard }
  | { readonly kind: "range"; readonly range: NumberRange }
  | { readonly kind: "cidr"; readonly block: CidrBlock }
  | { readonly kind: "exists" }
  | { readonly kind: "absent" }
  | { readonly kind: "anything-but-texts"; readonly texts: readonly string[] }
  | { readonly kind: "anything-but-numbers"; readonly values: readonly number[] }
  /** Every text that none of these matches, and every value that is not a text. */
  | { readonly kind: "anything-but"; readonly alternatives: readonly TextAlternative[] };

/** An alternative that compares texts. */
export type TextAlternative = Extract<Alternative, { kind: "prefix" | "suffix" | "equals-ignore-case" | "wildcard" }>;

/** The numbers between two bounds. An open bound is not part of the range. */
export interface NumberRange {
  readonly bottom: number;
  readonly isBottomOpen: boolean;
  readonly top: number;
  readonly isTopOpen: boolean;
}

/** The condition of a pattern on the leaves of one path. */
export interface FieldCondition {
  readonly alternatives: readonly Alternative[];
  /** Equal for conditions with the same alternatives. */
  readonly key: string;
}

/** The conditions of one branch of a pattern by path; all must hold. */
export type Branch = ReadonlyMap<string, FieldCondition>;

/** A leaf of an event: a value that is neither an object nor a list. */
export type Leaf =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "number"; readonly text: string }
  /** `true`, `false` or `null`. */
  | { readonly kind: "keyword"; readonly text: string };

/** Creates a condition; equal alternatives count once. */
export const conditionOf = (alternatives: readonly Alternative[]): FieldCondition => {
  const byKey = new Map(alternatives.map((alternative) => [JSON.stringify(alternative, writeBigInt), alternative]));
  const keys = [...byKey.keys()].toSorted();
  return { alternatives: [...byKey.values()], key: keys.join("\n") };
};

const writeBigInt = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}n` : value);

/** Whether a leaf meets an alternative. No leaf meets `absent`. */
export const meets = (alternative: Alternative, leaf: Leaf): boolean => {
  switch (alternative.kind) {
    case "text":
      return leaf.kind === "text" && leaf.text === alternative.text;
    case "address": {
      const address = leaf.kind === "text" ? parseAddress(leaf.text) : undefined;
      return address !== undefined && addressKey(address) === alternative.key;
    }
    case "number":
      return leaf.kind === "number" && comparableNumber(leaf.text) === alternative.value;
    case "number-text":
      return leaf.kind === "number" && leaf.text === alternative.text;
    case "keyword":
      return leaf.kind === "keyword" && leaf.text === alternative.keyword;
    case "range": {
      const value = leaf.kind === "number" ? comparableNumber(leaf.text) : undefined;
      return value !== undefined && isWithin(alternative.range, value);
    }
    case "cidr": {
      const address = leaf.kind === "text" ? parseAddress(leaf.text) : undefined;
      const { block } = alternative;
      return address?.width === block.width && leadingBits(address, block.bits) === block.prefix;
    }
    case "exists":
      return true;
    case "absent":
      return false;
    case "anything-but-texts":
      return leaf.kind !== "text" || !alternative.texts.includes(leaf.text);
    case "anything-but-numbers": {
      const value = leaf.kind === "number" ? comparableNumber(leaf.text) : undefined;
      return value === undefined || !alternative.values.includes(value);
    }
    case "anything-but":
      return leaf.kind !== "text" || !alternative.alternatives.some((each) => meetsText(each, leaf.text));
    default:
      return leaf.kind === "text" && meetsText(alternative, leaf.text);
  }
};

/** Whether a text meets an alternative. */
const meetsText = (alternative: TextAlternative, text: string): boolean => {
  switch (alternative.kind) {
    case "prefix":
      return alternative.ignoresCase ? startsIgnoringCase(alternative.text, text) : text.startsWith(alternative.text);
    case "suffix":
      return alternative.ignoresCase ? endsIgnoringCase(alternative.text, text) : text.endsWith(alternative.text);
    case "equals-ignore-case":
      return equalsIgnoringCase(alternative.text, text);
    case "wildcard":
      return matchesWildcard(alternative.wildcard, text);
  }
};

/** Whether a number is within a range. */
const isWithin = (range: NumberRange, value: number): boolean =>
  (range.isBottomOpen ? value > range.bottom : value >= range.bottom) &&
  (range.isTopOpen ? value < range.top : value <= range.top);
