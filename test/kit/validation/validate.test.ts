import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { ErrorReasonSchema } from "../../../gen/quartet/test/gateway/v1/error_reason_pb.ts";
import { PutNoticesRequestSchema } from "../../../gen/quartet/test/gateway/v1/notice_service_pb.ts";
import { CreateReaderRequestSchema, type ReaderKind } from "../../../gen/quartet/test/gateway/v1/reader_service_pb.ts";
import { PutShelfRulesRequestSchema } from "../../../gen/quartet/test/gateway/v1/shelf_service_pb.ts";
import { faultTable } from "../../../services/kit/faults/service-error.ts";
import { throwViolations, validatorFor, violationsFault } from "../../../services/kit/validation/validate.ts";
import { violationSentence } from "../../../services/kit/validation/wording.ts";

const goodReader = { readerName: "Ada", defaultExpirationDays: 7 } as const;

const sentences = (init: MessageInitShape<typeof CreateReaderRequestSchema>): string[] =>
  validatorFor(CreateReaderRequestSchema)(create(CreateReaderRequestSchema, init)).map((violation) =>
    violationSentence(violation, "wire"),
  );

describe("a validator", () => {
  test("finds nothing in a good message", () => {
    expect(sentences(goodReader)).toEqual([]);
    const everything: MessageInitShape<typeof CreateReaderRequestSchema> = {
      ...goodReader,
      secret: "abcd",
      address: { street: "Ink Lane", forward: { street: "Quay" } },
      tags: { tags: { a: "b" } },
      kind: 1,
      moreAddresses: [{ street: "Quay" }],
      languages: ["en", "de"],
      functionEndpoint: { arn: "lamp" },
      picture: new Uint8Array(4),
    };
    expect(sentences(everything)).toEqual([]);
  });

  test.each<[string, MessageInitShape<typeof CreateReaderRequestSchema>, string]>([
    // member, request, reported sentence
    [
      "a required text left empty",
      { ...goodReader, readerName: "" },
      "Value null at 'ReaderName' failed to satisfy constraint: Member must not be null",
    ],
    [
      "a required number left out",
      { readerName: "Ada" },
      "Value null at 'DefaultExpirationDays' failed to satisfy constraint: Member must not be null",
    ],
    [
      "a long text",
      { ...goodReader, readerName: "Ada-Lovelace" },
      "Value 'Ada-Lovelace' at 'ReaderName' failed to satisfy constraint: Member must have length less than or equal to 8",
    ],
    [
      "a text outside its pattern",
      { ...goodReader, readerName: "Ada L" },
      "Value 'Ada L' at 'ReaderName' failed to satisfy constraint: Member must satisfy regular expression pattern: ^[a-zA-Z0-9_-]+$",
    ],
    [
      "a small number",
      { ...goodReader, defaultExpirationDays: 0 },
      "Value '0' at 'DefaultExpirationDays' failed to satisfy constraint: Member must have value greater than or equal to 1",
    ],
    [
      "a large number",
      { ...goodReader, defaultExpirationDays: 1099 },
      "Value '1099' at 'DefaultExpirationDays' failed to satisfy constraint: Member must have value less than or equal to 1098",
    ],
    [
      "a sensitive text, whose value is not shown",
      { ...goodReader, secret: "abcde" },
      "Value at 'Secret' failed to satisfy constraint: Member must have length less than or equal to 4",
    ],
    [
      "an empty text where presence counts",
      { ...goodReader, secret: "" },
      "Value at 'Secret' failed to satisfy constraint: Member must have length greater than or equal to 1",
    ],
    [
      "a member of a member of its own type",
      { ...goodReader, address: { forward: { street: "Long Ink Lane" } } },
      "Value 'Long Ink Lane' at 'Address.Forward.Street' failed to satisfy constraint: Member must have length less than or equal to 8",
    ],
    [
      "a member of a list's element",
      { ...goodReader, moreAddresses: [{}, { street: "Long Ink Lane" }] },
      "Value 'Long Ink Lane' at 'MoreAddresses[1].Street' failed to satisfy constraint: Member must have length less than or equal to 8",
    ],
    [
      "an element outside its values",
      { ...goodReader, languages: ["en", "fr"] },
      "Value 'fr' at 'Languages[1]' failed to satisfy constraint: Member must satisfy enum value set: [en, de]",
    ],
    [
      "a repeated element",
      { ...goodReader, languages: ["en", "en"] },
      "Value '[en, en]' at 'Languages' failed to satisfy constraint: Member must have unique items",
    ],
    [
      "a wrapped map with too many entries",
      { ...goodReader, tags: { tags: { a: "", b: "", c: "" } } },
      "Value at 'tags' failed to satisfy constraint: Member must have length less than or equal to 2",
    ],
    [
      "a key of a wrapped map",
      { ...goodReader, tags: { tags: { A: "" } } },
      "Value 'A' at 'tags' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-z]+",
    ],
    [
      "a value of a wrapped map",
      { ...goodReader, tags: { tags: { a: "12345" } } },
      "Value '12345' at 'tags.a' failed to satisfy constraint: Member must have length less than or equal to 4",
    ],
    [
      "a number that no enum value has",
      { ...goodReader, kind: 9 as ReaderKind },
      "Value '9' at 'Kind' failed to satisfy constraint: Member must satisfy enum value set: [FUNCTION, URL]",
    ],
    [
      "too many bytes, which are not shown",
      { ...goodReader, picture: new Uint8Array(5) },
      "Value at 'Picture' failed to satisfy constraint: Member must have length less than or equal to 4",
    ],
    [
      "a required member of an optional message that is there",
      { ...goodReader, functionEndpoint: {} },
      "Value null at 'FunctionEndpoint.Arn' failed to satisfy constraint: Member must not be null",
    ],
  ])("reports %s", (_member, request, sentence) => {
    expect(sentences(request)).toEqual([sentence]);
  });

  test("counts characters, not UTF-16 units", () => {
    const street = "📚".repeat(8);
    expect(sentences({ ...goodReader, address: { street } })).toEqual([]);
    expect(sentences({ ...goodReader, address: { street: `${street}📚` } })).toHaveLength(1);
  });

  test("clips a long value and keeps it on one line", () => {
    const [sentence] = sentences({ ...goodReader, address: { street: `a\n${"b".repeat(500)}` } });
    expect(sentence).toBe(
      `Value 'a ${"b".repeat(126)}…' at 'Address.Street' failed to satisfy constraint: Member must have length less than or equal to 8`,
    );
  });

  test("names the proto path next to the wire path", () => {
    const request = create(PutShelfRulesRequestSchema, {
      shelf: "novels",
      shelfRules: { rules: [{ status: "Enabled" }, { status: "Off", days: 31 }] },
    });
    expect(validatorFor(PutShelfRulesRequestSchema)(request)).toEqual([
      {
        path: "ShelfRules.Rule[1].Status",
        field: "shelf_rules.rules[1].status",
        description: "Member must satisfy enum value set: [Enabled, Disabled]",
        value: "'Off'",
      },
      {
        path: "ShelfRules.Rule[1].Days",
        field: "shelf_rules.rules[1].days",
        description: "Member must have value less than or equal to 30",
        value: "'31'",
      },
    ]);
  });
});

describe("the refusal of invalid input", () => {
  const table = faultTable(ErrorReasonSchema);

  test("joins the violations, counts them and names the first member", () => {
    const request = create(PutNoticesRequestSchema, {
      entries: [{ source: "quartet.1" }, { source: "quartet.2" }, {}],
    });
    const violations = validatorFor(PutNoticesRequestSchema)(request);
    const refusal = violationsFault(table, violations, "wire");
    expect(refusal.message).toBe(
      "3 validation errors detected: " +
        "Value at 'Entries' failed to satisfy constraint: Member must have length less than or equal to 2; " +
        "Value 'quartet.1' at 'Entries[0].Source' failed to satisfy constraint: Member must have length less than or equal to 8; " +
        "Value 'quartet.2' at 'Entries[1].Source' failed to satisfy constraint: Member must have length less than or equal to 8",
    );
    expect(refusal.metadata).toMatchObject({ violation_count: "3", member: "Entries" });
    expect(refusal.violations).toHaveLength(3);

    const overRpc = violationsFault(table, violations);
    expect(overRpc.message).toContain("Value 'quartet.1' at 'entries[0].source' failed to satisfy constraint: ");
    expect(overRpc.metadata).toMatchObject({ violation_count: "3", member: "entries" });
  });

  test("is thrown only when there is a violation", () => {
    const empty = create(PutNoticesRequestSchema);
    expect(() => throwViolations(table, [])).not.toThrow();
    expect(() => throwViolations(table, validatorFor(PutNoticesRequestSchema)(empty))).toThrow(
      "1 validation error detected: Value null at 'Entries' failed to satisfy constraint: Member must not be null",
    );
  });
});
