import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { RuleBasedMatchingResponseSchema } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import { comparisonByRules, strengthOfLevel } from "../../../../services/customer-profile/domain/resolution/rules.ts";

type Fields = Readonly<Record<string, string>>;

const stateOf = (fields: Fields) => ({
  fields: new Map(Object.entries(fields).map(([path, value]) => [path, { value }])),
  keys: [],
  createdMs: 1,
  updatedMs: 1,
});

const rulesOf = (rules: readonly string[], selector?: object, more: object = {}) =>
  comparisonByRules(
    create(RuleBasedMatchingResponseSchema, {
      enabled: true,
      matchingRules: rules.map((rule) => ({ rule: rule.split(" ") })),
      ...(selector && { attributeTypesSelector: selector }),
      ...more,
    }),
  );

/** The level of the rule by which two profiles match; 0: none. */
const levelOf = (comparison: ReturnType<typeof rulesOf>, a: Fields, b: Fields): number => {
  const strength = comparison.strengthOf(comparison.valuesOf(stateOf(a)), comparison.valuesOf(stateOf(b)));
  return strength === 0 ? 0 : (comparison.resultOf(strength).ruleLevel ?? -1);
};

const toAll = { attributeMatchingModel: "MANY_TO_MANY" };
const toSame = { attributeMatchingModel: "ONE_TO_ONE" };
const ana = { FirstName: "Ana", LastName: "Sol" };
const home = { "Address.Address1": "1 Oak Road", "Address.City": "Ulm" };

describe("two profiles match by a rule", () => {
  test.each([
    // rules, one, other, level
    ["that names one field", ["AccountNumber"], { AccountNumber: "7" }, { AccountNumber: "7" }, 1],
    ["not if only one has the field", ["AccountNumber"], { AccountNumber: "7" }, {}, 0],
    ["not if none has it", ["AccountNumber"], {}, {}, 0],
    ["with numbers exactly", ["AccountNumber"], { AccountNumber: "a7" }, { AccountNumber: "A7" }, 0],
    ["with names in any case and space", ["LastName"], { LastName: "van  Eck" }, { LastName: " Van eck" }, 1],
    ["with mail in any case", ["EmailAddress"], { EmailAddress: "A@x.org" }, { EmailAddress: "a@X.org" }, 1],
    ["with phones by digits", ["PhoneNumber"], { PhoneNumber: "+1 555 123 4567" }, { PhoneNumber: "5551234567" }, 1],
    ["of all attributes", ["FirstName LastName"], ana, { ...ana, LastName: "Luz" }, 0],
    ["the first that applies", ["AccountNumber", "LastName", "FirstName"], ana, ana, 2],
    ["by attributes of any name", ["Attributes.tier"], { "Attributes.tier": "x" }, { "Attributes.tier": "x" }, 1],
    ["by a whole address", ["Address"], home, home, 1],
    ["not by a part of it", ["Address"], home, { "Address.City": "Ulm" }, 0],
    ["by lines of it", ["Address.City"], home, { "Address.City": "ulm" }, 1],
    [
      "by a field that has its kind's other name",
      ["HomePhoneNumber"],
      { HomePhoneNumber: "1" },
      { PhoneNumber: "1" },
      0,
    ],
  ])("%s", (_name, rules, one, other, level) => {
    expect(levelOf(rulesOf(rules), one, other)).toBe(level);
    expect(levelOf(rulesOf(rules), other, one)).toBe(level);
  });

  test.each([
    // selector, rule, one, other, level
    [toSame, "PhoneNumber", { HomePhoneNumber: "1" }, { HomePhoneNumber: "1" }, 1],
    [toSame, "PhoneNumber", { HomePhoneNumber: "1" }, { PhoneNumber: "1" }, 0],
    [toAll, "PhoneNumber", { HomePhoneNumber: "1" }, { PhoneNumber: "1" }, 1],
    [{ ...toAll, phoneNumber: ["PhoneNumber"] }, "PhoneNumber", { HomePhoneNumber: "1" }, { PhoneNumber: "1" }, 0],
    [toAll, "EmailAddress", { BusinessEmailAddress: "a@x" }, { PersonalEmailAddress: "a@x" }, 1],
    [toAll, "Address.City", { "BillingAddress.City": "Ulm" }, { "ShippingAddress.City": "Ulm" }, 1],
    [toSame, "Address.City", { "BillingAddress.City": "Ulm" }, { "ShippingAddress.City": "Ulm" }, 0],
    [{ ...toAll, address: ["BusinessAddress"] }, "Address.City", home, home, 0],
    [
      { ...toAll, address: ["BusinessAddress", "MaillingAddress"] },
      "Address.City",
      { "BillingAddress.City": "Ulm" },
      { "MailingAddress.City": "Ulm" },
      1,
    ],
    // Both lines are of one address.
    [
      toAll,
      "Address.City Address.Country",
      { "Address.City": "Ulm", "BillingAddress.Country": "DE" },
      { "Address.City": "Ulm", "BillingAddress.Country": "DE" },
      0,
    ],
  ])("with the fields that %j selects by %s", (selector, rule, one, other, level) => {
    expect(levelOf(rulesOf([rule], selector), one, other)).toBe(level);
  });

  test("that is not beyond the last that is applied", () => {
    const rules = rulesOf(["AccountNumber", "LastName"], undefined, { maxAllowedRuleLevelForMatching: 1 });
    expect(levelOf(rules, ana, ana)).toBe(0);
  });

  test("trusted more, the lower its level", () => {
    expect([1, 2, 15].map(strengthOfLevel)).toEqual([15, 14, 1]);
  });

  test("with at most 48 combinations of values for each rule", () => {
    const texts = (names: readonly string[]) => Object.fromEntries(names.map((name, index) => [name, `${index + 1}`]));
    const all = stateOf({
      ...texts(["PhoneNumber", "MobilePhoneNumber", "HomePhoneNumber", "BusinessPhoneNumber"]),
      ...texts(["EmailAddress", "PersonalEmailAddress", "BusinessEmailAddress"]),
      ...texts(["Address.City", "ShippingAddress.City", "MailingAddress.City", "BillingAddress.City"]),
      ...texts(["Address.State", "ShippingAddress.State", "MailingAddress.State", "BillingAddress.State"]),
    });
    const rules = rulesOf(["PhoneNumber EmailAddress Address.City Address.State Address"], toAll);
    expect(rules.keysOf(rules.valuesOf(all))).toHaveLength(48);
  });
});
