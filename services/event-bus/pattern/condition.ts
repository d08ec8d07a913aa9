import type { Network } from "./addresses.ts";
import { addressKey, leadingBits, parseAddress } from "./addresses.ts";
import { equalsIgnoringCase } from "./letters.ts";
import { comparableNumber } from "./numbers.ts";
import type { Wildcard } from "./wildcard.ts";
import { matchesWildcard } from "./wildcard.ts";

/** One thing that a leaf may be. A condition is met when any of its alternatives is. */
export type Alternative =
  | { readonly kind: "text"; readonly text: string }
  /** A text that is an IP address, equal to any other spelling of it. */
  | { readonly kind: "address"; readonly key: string }
  | { readonly kind: "number"; readonly value: number }
  /** A number by its text, for those that a double would change. */
  | { readonly kind: "number-text"; readonly text: string }
  | { readonly kind: "word"; readonly word: "true" | "false" | "null" }
  | { readonly kind: "prefix"; readonly text: string; readonly ignoresCase: boolean }
  | { readonly kind: "suffix"; readonly text: string; readonly ignoresCase: boolean }
  | { readonly kind: "equals-ignore-case"; readonly text: string }
  | { readonly kind: "wildcard"; readonly wildcard: Wildcard }
  | { readonly kind: "range"; readonly range: NumberRange }
  | { readonly kind: "network"; readonly network: Network }
  | { readonly kind: "exists" }
  | { readonly kind: "absent" }
  | { readonly kind: "anything-but-texts"; readonly texts: readonly string[] }
  | { readonly kind: "anything-but-numbers"; readonly values: readonly number[] }
  /** Every text that none of these matches, and everything that is no text. */
  | { readonly kind: "anything-but"; readonly alternatives: readonly TextAlternative[] };

export type TextAlternative = Extract<Alternative, { kind: "prefix" | "suffix" | "equals-ignore-case" | "wildcard" }>;

/** Numbers between two bounds; an open bound does not belong to the range. */
export interface NumberRange {
  readonly bottom: number;
  readonly isBottomOpen: boolean;
  readonly top: number;
  readonly isTopOpen: boolean;
}

/** What one path of a pattern asks for. */
export interface Condition {
  readonly alternatives: readonly Alternative[];
  /** Equal for conditions that ask for the same. */
  readonly key: string;
}

/** The alternatives of one branch of a pattern by path; all must hold. */
export type Branch = ReadonlyMap<string, Condition>;

/** A leaf of an event. */
export type Leaf =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "word"; readonly text: string };

export const conditionOf = (alternatives: readonly Alternative[]): Condition => {
  const byKey = new Map(alternatives.map((alternative) => [JSON.stringify(alternative, writeBigInt), alternative]));
  const keys = [...byKey.keys()].toSorted();
  return { alternatives: [...byKey.values()], key: keys.join("\n") };
};

const writeBigInt = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}n` : value);

/** Whether one leaf meets one alternative. Absence is met by no leaf. */
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
    case "word":
      return leaf.kind === "word" && leaf.text === alternative.word;
    case "range": {
      const value = leaf.kind === "number" ? comparableNumber(leaf.text) : undefined;
      return value !== undefined && isWithin(alternative.range, value);
    }
    case "network": {
      const address = leaf.kind === "text" ? parseAddress(leaf.text) : undefined;
      const { network } = alternative;
      return address?.width === network.width && leadingBits(address, network.bits) === network.prefix;
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

export const meetsText = (alternative: TextAlternative, text: string): boolean => {
  switch (alternative.kind) {
    case "prefix":
      return alternative.ignoresCase
        ? equalsIgnoringCase(alternative.text, text.slice(0, alternative.text.length))
        : text.startsWith(alternative.text);
    case "suffix":
      return alternative.ignoresCase
        ? text.length >= alternative.text.length &&
            equalsIgnoringCase(alternative.text, text.slice(text.length - alternative.text.length))
        : text.endsWith(alternative.text);
    case "equals-ignore-case":
      return equalsIgnoringCase(alternative.text, text);
    case "wildcard":
      return matchesWildcard(alternative.wildcard, text);
  }
};

export const isWithin = (range: NumberRange, value: number): boolean =>
  (range.isBottomOpen ? value > range.bottom : value >= range.bottom) &&
  (range.isTopOpen ? value < range.top : value <= range.top);
