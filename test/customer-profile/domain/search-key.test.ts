import { describe, expect, test } from "vitest";

import { documentedKeyName, searchedKeys, searchKey } from "../../../services/customer-profile/domain/search-key.ts";

describe("a key name", () => {
  test.each([
    // public, documented
    ["_marketoLeadId", "_vendorLeadId"],
    ["_salesforceAccountId", "_vendorAccountId"],
    ["_salesforceContactId", "_vendorContactId"],
    ["_zendeskUserId", "_vendorUserId"],
    ["_zendeskExternalId", "_vendorExternalId"],
    ["_serviceNowSystemId", "_vendorSystemId"],
    ["_vendorLeadId", "_vendorLeadId"],
    ["loyalty", "loyalty"],
  ])("%s is documented as %s", (name, documented) => {
    expect(documentedKeyName(name)).toBe(documented);
  });
});

describe("a key's entry", () => {
  test.each([
    // name, value, entry
    ["_phone", "(555)-123-4567", { name: "_phone", comparison: "PHONE_NUMBER", value: "5551234567" }],
    ["_email", "Ann@Example.com", { name: "_email", comparison: "EMAIL_ADDRESS", value: "ann@example.com" }],
    ["_fullName", "Ann  Lee", { name: "_fullName", comparison: "NAME", value: "ann lee" }],
    ["_account", "A-1", { name: "_account", comparison: "STRING", value: "A-1" }],
    ["_zendeskUserId", "7", { name: "_vendorUserId", comparison: "STRING", value: "7" }],
    ["loyalty", "Gold", { name: "loyalty", comparison: "STRING", value: "Gold" }],
  ] as const)("of %s and %s compares as its name says", (name, value, entry) => {
    expect(searchKey(name, value)).toEqual(entry);
  });

  test("of a predefined key compares in its own way whatever an object type says", () => {
    expect(searchKey("_phone", "555", "STRING").comparison).toBe("PHONE_NUMBER");
  });

  test("of a custom key is looked for in every way to compare", () => {
    expect(searchedKeys("loyalty", "+1 555 123 4567")).toEqual([
      { name: "loyalty", comparison: "STRING", value: "+1 555 123 4567" },
      { name: "loyalty", comparison: "NUMBER", value: "+1 555 123 4567" },
      { name: "loyalty", comparison: "PHONE_NUMBER", value: "5551234567" },
      { name: "loyalty", comparison: "EMAIL_ADDRESS", value: "+1 555 123 4567" },
      { name: "loyalty", comparison: "NAME", value: "+1 555 123 4567" },
    ]);
  });
});
