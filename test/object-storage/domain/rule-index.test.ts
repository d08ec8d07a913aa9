import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { LifecycleConfigurationSchema } from "../../../gen/quartet/objectstorage/v1/lifecycle_pb.ts";
import { decideAction, readLifecycle } from "../../../services/object-storage/domain/lifecycle-action.ts";
import { indexRules } from "../../../services/object-storage/domain/rule-index.ts";
import { seededRandom } from "../../kit/store/seeded-random.ts";

/** A rule: its prefix, and then its tags as `key=value`. */
const rule = (prefix: string, ...tags: string[]) => ({
  id: [prefix, ...tags].join(" "),
  conditions: { prefix, tags: tags.map(tagOf) },
});

const tagOf = (text: string) => {
  const [key = "", value = ""] = text.split("=");
  return { key, value };
};

describe("the index of rules", () => {
  const find = indexRules([
    rule("logs/2026/"),
    rule("logs/"),
    rule("logs/", "a=1", "b=1"),
    rule(""),
    rule("", "b=1"),
    rule("lo"),
    rule("logs/2026/", "a=2"),
    rule("m"),
  ]);

  test.each([
    ["logs/2026/x", [], ["logs/2026/", "logs/", "", "lo"]],
    ["logs/2026/x", ["b=1", "a=1"], ["logs/2026/", "logs/", "logs/ a=1 b=1", "", " b=1", "lo"]],
    ["logs/2026/x", ["a=2"], ["logs/2026/", "logs/", "", "lo", "logs/2026/ a=2"]],
    ["logs/2025", ["a=1"], ["logs/", "", "lo"]],
    ["logs", [], ["", "lo"]],
    ["zebra", ["b=1"], ["", " b=1"]],
    ["", [], [""]],
  ])("finds for the key %j with the tags %j the rules %j, in their order", (key, tags, ids) => {
    expect(find({ key, tags: tags.map(tagOf) }).map(({ id }) => id)).toEqual(ids);
  });

  test("finds what a look at every rule finds, whatever the rules are", () => {
    const random = seededRandom(7);
    const text = (letters: string, most: number) =>
      Array.from({ length: random.below(most + 1) }, () => letters[random.below(letters.length)]).join("");
    const tags = () => [...new Set(Array.from({ length: random.below(4) }, () => text("kl", 1)))];
    for (let round = 0; round < 300; round += 1) {
      const rules = Array.from({ length: random.below(30) }, () =>
        rule(text("ab\u{ffff}", 4), ...tags().map((key) => `${key}=${text("v", 1)}`)),
      );
      const found = indexRules(rules);
      for (let look = 0; look < 10; look += 1) {
        const subject = { key: text("ab\u{ffff}", 6), tags: tags().map((key) => ({ key, value: text("v", 1) })) };
        const expected = rules.filter(
          ({ conditions }) =>
            subject.key.startsWith(conditions.prefix) &&
            conditions.tags.every(({ key, value }) =>
              subject.tags.some((tag) => tag.key === key && tag.value === value),
            ),
        );
        expect(found(subject)).toEqual(expected);
      }
    }
  });

  test("does not look at a version's tags again for each of a thousand rules", () => {
    const rules = Array.from({ length: 1000 }, (_none, number) => ({
      id: String(number),
      status: "Enabled",
      filter: {
        and: {
          prefix: "",
          tags: [
            { key: "kind", value: "log" },
            { key: "number", value: `${number}` },
          ],
        },
      },
      expiration: { days: 1 },
    }));
    const lifecycle = readLifecycle(create(LifecycleConfigurationSchema, { rules }), "", 1);
    let reads = 0;
    const counted = (key: string, value: string) => ({
      get key() {
        reads += 1;
        return key;
      },
      value,
    });
    const facts = {
      key: "a",
      isDeleteMarker: false,
      isNewest: true,
      isOnly: true,
      lastModifiedMs: 0,
      noncurrentSinceMs: undefined,
      newerNoncurrent: 0,
      sizeBytes: 1,
      storageClass: "STANDARD",
      tags: [counted("kind", "log"), counted("number", "none")],
    };
    expect(decideAction(lifecycle, facts, 10)).toBeUndefined();
    expect(reads).toBe(2);
  });
});
