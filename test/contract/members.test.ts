import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract, methodContract } from "../../services/kit/contract/contract.ts";
import { requestLocationProblems, responseLocationProblems } from "../../services/kit/contract/binding-locations.ts";
import { enumSpellings } from "../../services/kit/contract/spellings.ts";
import { canonicalPattern } from "./canonical-pattern.ts";
import { differencesOf } from "./compare.ts";
import {
  intendedDifferences,
  namesBeyondTheModels,
  openDifferences,
  sharedNames,
  statusDifferences,
  unpagedListings,
} from "./differences.ts";
import { messagesOf } from "./messages.ts";
import { apis } from "./model.ts";

const methods = apis.flatMap(({ api, service }) =>
  service.methods.map((desc) => ({ api, name: desc.name, desc, contract: methodContract(desc) })),
);
const paged = methods.filter(({ contract }) => contract.pagination !== undefined);
const readers = methods.filter(({ name }) => /^(?:Get|List|Describe|Head)/.test(name));
const listings = methods.filter(({ name }) => name.startsWith("List"));
const named = (fields: readonly FieldContract[], name: string) => fields.find((field) => field.desc.name === name);

describe("the members of the contract", () => {
  test.each(apis)("differ from the public model of $api only where it is meant", (each) => {
    const intended = intendedDifferences.filter(({ api }) => api === each.api);
    const unexplained = differencesOf(each).filter((line) => !intended.some(({ lines }) => lines.test(line)));
    expect(unexplained, "change the proto, or say in differences.ts why it differs").toEqual(
      openDifferences[each.api] ?? [],
    );
  });

  test.each(intendedDifferences)("still differ: $api, $reason", ({ api, lines }) => {
    const found = apis.filter((each) => each.api === api).flatMap(differencesOf);
    expect(found.filter((line) => lines.test(line)).length, "take the stale rule away").toBeGreaterThan(0);
  });

  test.each(methods)("$api: each member of $name has exactly one place", ({ contract }) => {
    expect([...requestLocationProblems(contract), ...responseLocationProblems(contract)]).toEqual([]);
  });
});

describe("names on the wire", () => {
  test.each(apis)("of $api stand for one member of a message, but for those with a reason", ({ service }) => {
    const shared = messagesOf(service).flatMap((desc) => {
      const names = messageContract(desc).bodyFields.map(({ wireName }) => wireName);
      return names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${desc.name}.${name}`);
    });
    expect(shared.filter((name) => sharedNames[name] === undefined)).toEqual([]);
  });

  test.each(apis)("of $api stand for one value of an enumeration", ({ service }) => {
    const enums = messagesOf(service).flatMap(({ fields }) => fields.flatMap((field) => field.enum ?? []));
    for (const desc of enums) {
      const spelled = enumSpellings(desc).values.map(({ wireValue }) => wireValue);
      expect(new Set(spelled).size, `values of ${desc.name}`).toBe(spelled.length);
    }
  });
});

describe("listings", () => {
  test.each(paged)("$api: $name pages by members that it has", ({ contract }) => {
    const { inputToken, outputToken, pageSize, items } = contract.pagination!;
    expect(named(contract.input.fields, inputToken)?.desc.fieldKind).toBe("scalar");
    expect(named(contract.output.fields, outputToken)?.desc.fieldKind).toBe("scalar");
    expect(pageSize === "" || named(contract.input.fields, pageSize)?.desc.fieldKind === "scalar").toBe(true);
    expect(
      items === "" ||
        named(contract.output.fields, items)?.desc.message !== undefined ||
        named(contract.output.fields, items)?.desc.fieldKind === "list",
    ).toBe(true);
  });

  test("are paged, but for those with a reason", () => {
    const unpaged = listings.filter(({ contract }) => contract.pagination === undefined);
    const names = unpaged.map(({ api, name }) => `${api}.${name}`);
    expect(names.filter((name) => unpagedListings[name] === undefined)).toEqual([]);
  });
});

test.each(readers)("$api: $name is declared free of side effects", ({ desc }) => {
  expect(desc.idempotency).toBe(MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS);
});

describe("refusals", () => {
  test.each(apis)("of $api have all their facts", ({ faults }) => {
    for (const { name, publicName, httpStatus, message } of faults.all()) {
      expect(name).toMatch(/^(?:KMS\.)?[A-Z][A-Za-z0-9]+$/);
      expect(publicName).toMatch(/^(?:KMS\.)?[A-Z][A-Za-z0-9]+$/);
      expect(httpStatus).toBeGreaterThanOrEqual(300);
      expect(httpStatus).toBeLessThan(600);
      expect(message).not.toBe("");
    }
  });

  test.each(apis)(
    "of $api have names that the public model lists, but for those with a reason",
    ({ api, faults, model }) => {
      const beyond = namesBeyondTheModels.filter((each) => each.api === api).flatMap(({ names }) => names);
      const unknown = faults.all().filter(({ publicName }) => model.errors[publicName] === undefined);
      const names = new Set(unknown.map(({ publicName }) => publicName));
      expect([...names].filter((name) => !beyond.includes(name))).toEqual([]);
    },
  );

  test.each([
    // API, documented name, documented status
    { api: "object-storage", name: "EntityTooSmall", status: 400 },
    { api: "object-storage", name: "InvalidPart", status: 400 },
    { api: "object-storage", name: "InvalidPartOrder", status: 400 },
    { api: "object-storage", name: "NoSuchUpload", status: 404 },
    { api: "object-storage", name: "AccessDenied", status: 403 },
    { api: "object-storage", name: "PreconditionFailed", status: 412 },
    { api: "event-bus", name: "InvalidToken", status: 400 },
  ])("of $api have the documented status: $name $status", ({ api, name, status }) => {
    const table = apis.find((each) => each.api === api)?.faults;
    const facts = table?.all().filter((each) => each.name === name);
    expect(facts?.map(({ httpStatus }) => httpStatus)).toContain(status);
  });

  test.each(apis)("of $api have one status for each name", ({ faults }) => {
    const statuses = new Set(faults.all().map(({ name, httpStatus }) => `${name} ${httpStatus}`));
    expect(statuses.size).toBe(new Set(faults.all().map(({ name }) => name)).size);
  });

  test.each(apis)("of $api have the statuses of the public model", ({ api, faults, model }) => {
    const different = faults
      .all()
      .filter(({ publicName, httpStatus }) => (model.errors[publicName] ?? httpStatus) !== httpStatus)
      .map(({ publicName }) => `${api}.${publicName}`);
    expect(different.filter((name) => statusDifferences[name] === undefined)).toEqual([]);
  });
});

test.each([
  // pattern, canonical
  ["^[a-z\\-0-9]+$", "[-0-9a-z]+"],
  ["[0-9a-z-]+", "[-0-9a-z]+"],
  ["a[.]b\\/c", "a\\.b/c"],
  ["a\\.b/c", "a\\.b/c"],
  ["[\\x26=]", "[&=]"],
  ["[^\\s:]", "[^:\\s]"],
  [".*", undefined],
  ["[\\s\\S]*", undefined],
])("the pattern %s is compared as %s", (pattern, canonical) => {
  expect(canonicalPattern(pattern)).toBe(canonical);
});
