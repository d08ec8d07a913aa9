import type {
  AttributeTypesSelector,
  MatchingRule,
  RuleBasedMatchingResponse,
} from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import type { Comparison } from "../normalization.ts";
import { normalize } from "../normalization.ts";
import { addressFields, addressLines, emailPaths, namePaths, phonePaths } from "../profile-fields.ts";
import type { ProfileState } from "../profile-state.ts";
import type { MatchComparison } from "./match-comparison.ts";

/** What of a profile rules compare: the level of each combination of values, by its text. */
export type RuleValues = ReadonlyMap<string, { readonly level: number; readonly parts: readonly string[] }>;

/** The rules that a domain can have. */
const levelsMax = 15;

/** The text at a path of a profile; empty: it has none. */
type TextAt = (path: string) => string;

/** The values that a profile has of one attribute of a rule. None: the rule does not apply to it. */
type ValuesOf = (textAt: TextAt) => readonly string[];

/**
 * The comparison by the rules of a domain that are applied. Two profiles match by a rule if they have a value in common
 * for each of its attributes; the strength of a match is that of the most trusted rule.
 */
export const comparisonByRules = (settings: RuleBasedMatchingResponse): MatchComparison<RuleValues> => {
  const { matchingRules, attributeTypesSelector: selector, maxAllowedRuleLevelForMatching: max } = settings;
  const rules = matchingRules.slice(0, max).map((rule) => attributesOf(rule, selector));
  return {
    valuesOf(state) {
      const textAt = textsOf(state);
      const values = new Map<string, { level: number; parts: readonly string[] }>();
      for (const [index, attributes] of rules.entries())
        for (const parts of combinations(attributes.map((valuesOf) => valuesOf(textAt)))) {
          const key = ["rule", String(index + 1), ...parts];
          values.set(JSON.stringify(key), { level: index + 1, parts: key });
        }
      return values;
    },
    keysOf: (values) => [...values.values()].map(({ parts }) => parts),
    strengthOf(a, b) {
      for (const [key, { level }] of a) if (b.has(key)) return strengthOfLevel(level);
      return 0;
    },
    resultOf: (strength) => ({ ruleLevel: strengthOfLevel(strength) }),
  };
};

/** The first rule is trusted most. */
export const strengthOfLevel = (level: number): number => levelsMax + 1 - level;

/** The kinds of fields that a rule can name, by the names of their first fields. */
const kinds = {
  PhoneNumber: { paths: phonePaths, selected: (selector: AttributeTypesSelector) => selector.phoneNumber },
  EmailAddress: { paths: emailPaths, selected: (selector: AttributeTypesSelector) => selector.emailAddress },
} as const;

const addressPaths = addressFields.map(({ path }) => path);

/** The names that the public documents have for two of the four addresses in selectors. */
const documentedAddresses: ReadonlyMap<string, string> = new Map([
  ["MaillingAddress", "MailingAddress"],
  ["BusinessAddress", "BillingAddress"],
]);

/** The address field that a selector names; undefined: it names none. */
export const selectedAddress = (name: string): string | undefined =>
  addressPaths.find((path) => path === (documentedAddresses.get(name) ?? name));

const attributesOf = ({ rule }: MatchingRule, selector: AttributeTypesSelector | undefined): readonly ValuesOf[] => {
  const names = [...new Set(rule)];
  const lines = names.filter(isOfAddresses);
  const others = names.filter((name) => !isOfAddresses(name)).map((name) => valuesAt(name, selector));
  return lines.length === 0 ? others : [...others, addressesWith(lines, selector)];
};

/** Whether a name means any of the selected addresses: `Address`, or a line as `Address.City`. */
const isOfAddresses = (name: string): boolean => name === "Address" || name.startsWith("Address.");

const valuesAt = (name: string, selector: AttributeTypesSelector | undefined): ValuesOf => {
  if (name === "PhoneNumber" || name === "EmailAddress") {
    const { paths, selected } = kinds[name];
    const chosen = selector === undefined ? [] : selected(selector);
    return ofKind(chosen.length === 0 ? paths : chosen, selector, (path, textAt) => normalAt(path, textAt));
  }
  if (addressPaths.some((path) => name === path))
    return (textAt) => said(wholeAddress(name, textAt)).map((text) => JSON.stringify(text));
  return (textAt) => said(normalAt(name, textAt));
};

/** The addresses that have all these lines; so all lines of a rule are of one address. */
const addressesWith = (names: readonly string[], selector: AttributeTypesSelector | undefined): ValuesOf => {
  const chosen = selector?.address.flatMap((name) => selectedAddress(name) ?? []) ?? [];
  return ofKind(chosen.length === 0 ? addressPaths : chosen, selector, (path, textAt) => {
    const texts = names.map((name) =>
      name === "Address" ? wholeAddress(path, textAt) : normalAt(`${path}${name.slice("Address".length)}`, textAt),
    );
    return texts.includes("") ? "" : JSON.stringify(texts);
  });
};

/** The values of several fields, each compared with itself or with all of its kind. */
const ofKind =
  (
    paths: readonly string[],
    selector: AttributeTypesSelector | undefined,
    valueAt: (path: string, textAt: TextAt) => string,
  ): ValuesOf =>
  (textAt) => {
    const isWithAll = selector?.attributeMatchingModel === "MANY_TO_MANY";
    const values = paths.flatMap((path) =>
      said(valueAt(path, textAt)).map((text) => (isWithAll ? text : `${path} ${text}`)),
    );
    return [...new Set(values)];
  };

/** All lines of an address; empty: it has none. */
const wholeAddress = (address: string, textAt: TextAt): string => {
  const lines = addressLines.map(({ path }) => normalAt(`${address}.${path}`, textAt));
  return lines.every((line) => line === "") ? "" : JSON.stringify(lines);
};

const said = (text: string): readonly string[] => (text === "" ? [] : [text]);

const normalAt = (path: string, textAt: TextAt): string => {
  const text = textAt(path);
  return text === "" ? "" : normalize(comparisonOf(path), text);
};

const comparisonOf = (path: string): Comparison => {
  if (phonePaths.some((phone) => phone === path)) return "PHONE_NUMBER";
  if (emailPaths.some((email) => email === path)) return "EMAIL_ADDRESS";
  const isName = path === "BusinessName" || namePaths.some((name) => name === path);
  return isName || addressPaths.some((address) => path.startsWith(`${address}.`)) ? "NAME" : "STRING";
};

const textsOf =
  ({ fields }: ProfileState): TextAt =>
  (path) =>
    fields.get(path)?.value.trim() ?? "";

/** Each choice of one value of each list. */
const combinations = (lists: readonly (readonly string[])[]): readonly (readonly string[])[] => {
  let chosen: readonly (readonly string[])[] = [[]];
  for (const values of lists) chosen = chosen.flatMap((parts) => values.map((value) => [...parts, value]));
  return chosen;
};
