import { describe, expect, test } from "vitest";

import { comparedValuesOf } from "../../../../services/customer-profile/domain/resolution/compared-values.ts";
import { confidenceOf, isOneErrorApart } from "../../../../services/customer-profile/domain/resolution/confidence.ts";

const valuesOf = (fields: Readonly<Record<string, string>>) =>
  comparedValuesOf({
    fields: new Map(Object.entries(fields).map(([path, value]) => [path, { value }])),
    keys: [],
    createdMs: 0,
    updatedMs: 0,
  });

const confidence = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): string =>
  confidenceOf(valuesOf(a), valuesOf(b)).toFixed(3);

const ana = { FirstName: "Ana", LastName: "Sol" };
const home = { "Address.Address1": "1 Elm St.", "Address.PostalCode": "12 345" };

describe("the confidence that two profiles are of the same customer", () => {
  test.each([
    // what is shared, one profile, the other, confidence
    ["nothing", {}, {}, "0.015"],
    ["a mail address", { EmailAddress: "a@x.org" }, { BusinessEmailAddress: " A@X.org " }, "0.800"],
    ["a phone", { PhoneNumber: "+1 555 123 4567" }, { MobilePhoneNumber: "(555) 123-4567" }, "0.500"],
    ["mail and name", { ...ana, EmailAddress: "a@x.org" }, { ...ana, EmailAddress: "a@x.org" }, "0.992"],
    ["phone and name", { ...ana, PhoneNumber: "112233" }, { ...ana, PhoneNumber: "112233" }, "0.970"],
    ["name and birth date", { ...ana, BirthDate: "1980-07-12" }, { ...ana, BirthDate: "07/12/1980" }, "0.941"],
    ["name and address", { ...ana, ...home }, { ...ana, ...home, "Address.Address1": "1 elm st" }, "0.889"],
    ["a name", ana, { FirstName: "ANA", LastName: "Sol" }, "0.333"],
    [
      "a mail address, and a name with a typing error",
      { ...ana, EmailAddress: "a@x.org" },
      { FirstName: "Anna", LastName: "Sol", EmailAddress: "a@x.org" },
      "0.800",
    ],
    [
      "a mail address, and not the name",
      { ...ana, EmailAddress: "a@x.org" },
      { FirstName: "Ben", LastName: "Lind", EmailAddress: "a@x.org" },
      "0.200",
    ],
    [
      "name and address, and not the birth date",
      { ...ana, ...home, BirthDate: "1980-07-12" },
      { ...ana, ...home, BirthDate: "2004-01-30" },
      "0.200",
    ],
  ])("who share %s", (_what, a, b, expected) => {
    expect(confidence(a, b)).toBe(expected);
    expect(confidence(b, a)).toBe(expected);
  });
});

test.each([
  // one text, another, one error apart
  ["john doe", "jhn doe", true],
  ["john doe", "johnn doe", true],
  ["john doe", "john dof", true],
  ["john doe", "jonh doe", true],
  ["john doe", "john do", true],
  ["john doe", "jhno doe", false],
  ["john doe", "jon de", false],
  ["ann", "ben", false],
])("%s and %s are one typing error apart: %s", (a, b, expected) => {
  expect(isOneErrorApart(a, b)).toBe(expected);
  expect(isOneErrorApart(b, a)).toBe(expected);
});

test.each([
  // path, text, the other way to write it
  ["BirthDate", "1980-07-12", "12.7.1980"],
  ["BirthDate", "19800712", "1980-07-12T00:00:00Z"],
  ["BirthDate", "12 July 1980", " 12  july 1980"],
  ["EmailAddress", "Ana@X.org", "ana@x.org"],
  ["PhoneNumber", "001 555 123 4567", "5551234567"],
])("%s %s is the same as %s", (path, one, other) => {
  expect(valuesOf({ [path]: one })).toEqual(valuesOf({ [path]: other }));
});

test("texts that say nothing are no values", () => {
  const nothing = { EmailAddress: " ", FirstName: "Ana", "Address.Address1": "-", "Address.City": "Ulm" };
  const { emails, names, addresses } = valuesOf(nothing);
  expect([emails.size, names.size, addresses.size]).toEqual([0, 0, 0]);
});
