import type { Comparison } from "./normalization.ts";
import { normalize } from "./normalization.ts";

/** One entry of the index: a key name, how its values are compared, and the value in its normal form. */
export interface SearchKey {
  /** Documented spelling. */
  readonly name: string;
  readonly comparison: Comparison;
  readonly value: string;
}

/** The key whose only value is the profile's identifier. Its values cannot be changed. */
export const profileIdKeyName = "_profileId";

/**
 * How values of predefined keys are compared; values of other keys are compared as the object type says, or as text.
 */
const predefinedComparisons: ReadonlyMap<string, Comparison> = new Map([
  ["_account", "STRING"],
  ["_profileId", "STRING"],
  ["_fullName", "NAME"],
  ["_phone", "PHONE_NUMBER"],
  ["_email", "EMAIL_ADDRESS"],
  ["_ctrContactId", "STRING"],
  ["_vendorLeadId", "STRING"],
  ["_vendorAccountId", "STRING"],
  ["_vendorContactId", "STRING"],
  ["_vendorUserId", "STRING"],
  ["_vendorExternalId", "STRING"],
  ["_vendorSystemId", "STRING"],
]);

/** The public spellings of the predefined keys, where they differ. */
const documentedNames: ReadonlyMap<string, string> = new Map([
  ["_marketoLeadId", "_vendorLeadId"],
  ["_salesforceAccountId", "_vendorAccountId"],
  ["_salesforceContactId", "_vendorContactId"],
  ["_zendeskUserId", "_vendorUserId"],
  ["_zendeskExternalId", "_vendorExternalId"],
  ["_serviceNowSystemId", "_vendorSystemId"],
]);

const allComparisons: readonly Comparison[] = ["STRING", "NUMBER", "PHONE_NUMBER", "EMAIL_ADDRESS", "NAME"];

/** The documented spelling of a key name in either spelling. */
export const documentedKeyName = (name: string): string => documentedNames.get(name) ?? name;

/** The entry for a value; a predefined key is compared in its own way, whatever an object type says. */
export const searchKey = (name: string, value: string, comparison: Comparison = "STRING"): SearchKey => {
  const documented = documentedKeyName(name);
  const chosen = predefinedComparisons.get(documented) ?? comparison;
  return { name: documented, comparison: chosen, value: normalize(chosen, value) };
};

/**
 * All entries that a search for this value must read: object types may compare values of one custom key in different
 * ways, and an entry of any of these is found.
 */
export const searchedKeys = (name: string, value: string): readonly SearchKey[] => {
  const documented = documentedKeyName(name);
  const predefined = predefinedComparisons.get(documented);
  const comparisons = predefined === undefined ? allComparisons : [predefined];
  return comparisons.map((comparison) => searchKey(documented, value, comparison));
};
