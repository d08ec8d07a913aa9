import { describe, expect, test } from "vitest";

import { refusalOf, startHarness } from "../harness.ts";
import type { ProfileClient } from "../harness.ts";

/** Ann and Bob share a phone number; Ann and Cleo share a city, which is not a search key. */
const people = {
  Ann: {
    accountNumber: "A-1",
    firstName: "Ann",
    middleName: "Mary",
    lastName: "Lee",
    phoneNumber: "+15551234567",
    personalEmailAddress: "Ann.Lee@example.com",
    address: { city: "Ghent" },
  },
  Bob: { accountNumber: "a-1", firstName: "Bob", lastName: "Ray", homePhoneNumber: "(555)-123-4567" },
  Cleo: {
    firstName: "Cleo",
    mobilePhoneNumber: "+32 9 233 44 55",
    businessPhoneNumber: "112",
    emailAddress: "cleo@example.com",
    businessEmailAddress: "c.day@shop.example",
    address: { city: "Ghent" },
  },
} as const;

const shopWithPeople = async (client: ProfileClient) => {
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  for (const person of Object.values(people)) {
    const { profileId } = await client.createProfile({ domainName: "shop", ...person });
    await client.addProfileKey({
      domainName: "shop",
      profileId,
      keyName: "loyalty",
      values: ["all", person.firstName],
    });
  }
};

describe("searchProfiles", () => {
  test("finds by each kind of key as its values compare", async () => {
    const { client } = await startHarness();
    await shopWithPeople(client);
    const rows: [keyName: string, values: string[], found: string[]][] = [
      ["_account", ["A-1"], ["Ann"]],
      ["_account", ["a-1"], ["Bob"]],
      ["_account", ["A-1 "], []],
      ["_phone", ["555 123 4567"], ["Ann", "Bob"]],
      ["_phone", ["112"], ["Cleo"]],
      ["_phone", ["003292334455"], ["Cleo"]],
      ["_phone", ["55"], []],
      ["_email", ["ann.lee@EXAMPLE.com"], ["Ann"]],
      ["_email", ["c.day@shop.example"], ["Cleo"]],
      ["_fullName", ["ann mary lee"], ["Ann"]],
      ["_fullName", ["Bob Ray"], ["Bob"]],
      ["_fullName", ["Cleo"], ["Cleo"]],
      ["_fullName", ["Ann Lee"], []],
      ["_email", ["Ann.Lee@example.com", "cleo@example.com", "nobody@example.com"], ["Ann", "Cleo"]],
      ["_phone", ["112", "112", "+32 92334455"], ["Cleo"]],
      ["loyalty", ["Ann", "Bob"], ["Ann", "Bob"]],
      ["loyalty", ["ann"], []],
      ["Loyalty", ["Ann"], []],
      ["_profileId", ["f".repeat(32), "no identifier"], []],
      ["_ctrContactId", ["c-1"], []],
    ];
    for (const [keyName, values, expected] of rows) {
      const { items } = await client.searchProfiles({ domainName: "shop", keyName, values });
      expect([keyName, values, items.map((profile) => profile.firstName ?? "").toSorted()]).toEqual([
        keyName,
        values,
        expected,
      ]);
    }
  });

  test("finds by any or by every one of several keys, and says by which", async () => {
    const { client } = await startHarness();
    await shopWithPeople(client);
    const search = async (logicalOperator: string | undefined) => {
      const { items } = await client.searchProfiles({
        domainName: "shop",
        keyName: "_phone",
        values: ["5551234567", "112"],
        additionalSearchKeys: [
          { keyName: "_email", values: ["ann.lee@example.com", "nobody@example.com"] },
          { keyName: "loyalty", values: ["all"] },
        ],
        logicalOperator,
      });
      return Object.fromEntries(
        items.map((profile) => [
          profile.firstName,
          profile.foundByItems.map(({ keyName, values }) => `${keyName}=${values.join(",")}`),
        ]),
      );
    };
    const any = {
      Ann: ["_phone=5551234567", "_email=ann.lee@example.com", "loyalty=all"],
      Bob: ["_phone=5551234567", "loyalty=all"],
      Cleo: ["_phone=112", "loyalty=all"],
    };
    expect(await search("OR")).toEqual(any);
    expect(await search(undefined)).toEqual(any);
    expect(await search("AND")).toEqual({ Ann: any.Ann });
  });

  test("gives every profile once over its pages, in the order of identifiers", async () => {
    const { client } = await startHarness();
    await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
    const made: string[] = [];
    for (let index = 0; index < 23; index += 1) {
      const members = { accountNumber: index % 2 === 0 ? "even" : "odd", phoneNumber: "112" };
      made.push((await client.createProfile({ domainName: "shop", ...members })).profileId);
    }
    const pagesOf = async (request: object) => {
      const pages: string[][] = [];
      let nextToken: string | undefined;
      do {
        const page = await client.searchProfiles({ domainName: "shop", maxResults: 5, nextToken, ...request });
        pages.push(page.items.map((profile) => profile.profileId));
        nextToken = page.nextToken;
      } while (nextToken !== undefined);
      return pages;
    };
    const all = await pagesOf({ keyName: "_account", values: ["even", "odd"] });
    expect(all.flat()).toEqual(made.toSorted());
    expect(all.map((page) => page.length)).toEqual([5, 5, 5, 5, 3]);
    const odd = await pagesOf({
      keyName: "_phone",
      values: ["112"],
      additionalSearchKeys: [{ keyName: "_account", values: ["odd"] }],
      logicalOperator: "AND",
    });
    expect(odd.flat()).toEqual(made.filter((_, index) => index % 2 === 1).toSorted());
  });

  test("finds the few with one key among the many with another in one page", async () => {
    const { client } = await startHarness();
    await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
    const made: string[] = [];
    for (let index = 0; index < 60; index += 1) {
      const members = { accountNumber: `${index}`, phoneNumber: "112", lastName: "Lee" };
      made.push((await client.createProfile({ domainName: "shop", ...members })).profileId);
    }
    const other = await client.createProfile({ domainName: "shop", accountNumber: "7" });
    const search = async (...clauses: { keyName: string; values: string[] }[]) => {
      const [first, ...additionalSearchKeys] = clauses;
      const both = { domainName: "shop", logicalOperator: "AND", maxResults: 2, additionalSearchKeys, ...first };
      const { items, nextToken } = await client.searchProfiles(both);
      return [items.map(({ profileId, foundByItems }) => [profileId, foundByItems.length]), nextToken];
    };
    const many = { keyName: "_phone", values: ["112"] };
    const name = { keyName: "_fullName", values: ["Lee"] };
    const few = { keyName: "_account", values: ["7"] };
    expect(await search(many, name, few)).toEqual([[[made[7], 3]], undefined]);
    expect(await search(few, many)).toEqual([[[made[7], 2]], undefined]);
    expect(await search(many, { keyName: "_account", values: ["none"] })).toEqual([[], undefined]);
    expect(await search(name, { keyName: "_profileId", values: [made[3] ?? ""] })).toEqual([[[made[3], 2]], undefined]);
    expect(await search(many, { keyName: "_profileId", values: [other.profileId] })).toEqual([[], undefined]);
  });

  test("ends a page at three mebibytes", async () => {
    const { client } = await startHarness();
    await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
    const attributes = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`a${index}`, "x".repeat(250)]));
    for (let index = 0; index < 16; index += 1)
      await client.createProfile({ domainName: "shop", accountNumber: "A", attributes });
    const request = { domainName: "shop", keyName: "_account", values: ["A"] };
    const first = await client.searchProfiles(request);
    const second = await client.searchProfiles({ ...request, nextToken: first.nextToken });
    expect(first.items.length).toBeLessThan(16);
    expect(first.items.length + second.items.length).toBe(16);
    expect(second.nextToken).toBeUndefined();
  });

  test("reads one range a page for many values, and finds nothing twice and all at last", async () => {
    const { client } = await startHarness();
    await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
    const values = Array.from({ length: 999 }, (_, index) => `v${index}`);
    const made: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      const { profileId } = await client.createProfile({ domainName: "shop", accountNumber: `${index}` });
      await client.addProfileKey({ domainName: "shop", profileId, keyName: "group", values });
      made.push(profileId);
    }
    const last = made.toSorted().at(-1) ?? "";
    const account = `${made.indexOf(last)}`;
    const search = {
      domainName: "shop",
      keyName: "group",
      values,
      additionalSearchKeys: [{ keyName: "_account", values: [account] }],
      logicalOperator: "AND",
      maxResults: 1,
    };
    const pages: string[][] = [];
    let nextToken: string | undefined;
    do {
      const page = await client.searchProfiles({ ...search, nextToken });
      pages.push(page.items.map(({ profileId }) => profileId));
      nextToken = page.nextToken;
    } while (nextToken !== undefined && pages.length < 10);
    expect(pages).toEqual([[], [last], []]);
  });

  test("refuses, in this order", async () => {
    const { client, clientOf } = await startHarness();
    await shopWithPeople(client);
    const search = { domainName: "shop", keyName: "loyalty", values: ["all"] };
    const { nextToken } = await client.searchProfiles({ ...search, maxResults: 1 });
    const values = Array.from({ length: 1_001 }, (_, index) => `${index}`);
    const badToken = "INVALID_PAGE_TOKEN: The value of NextToken is not a token of this listing";
    expect(await refusalOf(client.searchProfiles({ ...search, domainName: "none", values, nextToken }))).toBe(
      "TOO_MANY_SEARCH_VALUES: A search can have at most 1000 values",
    );
    expect(await refusalOf(client.searchProfiles({ ...search, values: ["Ann"], nextToken }))).toBe(badToken);
    expect(await refusalOf(client.searchProfiles({ ...search, logicalOperator: "AND", nextToken }))).toBe(badToken);
    expect(await refusalOf(client.searchProfiles({ ...search, domainName: "none", nextToken }))).toBe(badToken);
    expect(await refusalOf(clientOf("111111111111").searchProfiles({ ...search, nextToken }))).toBe(badToken);
    expect(await refusalOf(client.searchProfiles({ ...search, domainName: "none" }))).toBe(
      "DOMAIN_NOT_FOUND: Domain none does not exist",
    );
    expect(await refusalOf(client.searchProfiles({ ...search, values: values.slice(1) }))).toBe("answered");
  });

  test("ends a page early when many spellings of one number find its profiles", async () => {
    const { client } = await startHarness();
    await client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
    for (let count = 0; count < 15; count += 1)
      await client.createProfile({ domainName: "shop", phoneNumber: "+15551234567" });
    const letters = (count: number): string => count.toString(2).replaceAll("0", "o").replaceAll("1", "l");
    const values = Array.from({ length: 1_000 }, (_, count) => `+15551234567 ${letters(count).padStart(240, "-")}`);
    const search = { domainName: "shop", keyName: "_phone", values };
    const first = await client.searchProfiles(search);
    const second = await client.searchProfiles({ ...search, nextToken: first.nextToken });
    expect([first.items.length, second.items.length, second.nextToken]).toEqual([13, 2, undefined]);
  });
});
