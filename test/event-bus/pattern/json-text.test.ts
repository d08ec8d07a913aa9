import { describe, expect, test } from "vitest";

import type { JsonNode } from "../../../services/event-bus/pattern/json-text.ts";
import { readJson } from "../../../services/event-bus/pattern/json-text.ts";
import { PatternError } from "../../../services/event-bus/pattern/pattern-error.ts";
import { seededRandom } from "../../kit/store/seeded-random.ts";
import { rounds } from "../../support/rounds.ts";
import { documentOf, isReadAs, mutated } from "../json/generated-json.ts";

/** The value as JSON.parse gives it: the last member of a name counts, and `__proto__` is a name like any other. */
const plainOf = (node: JsonNode): unknown => {
  if (node.kind === "text") return node.value;
  if (node.kind === "number") return Number(node.text);
  if (node.kind === "keyword") return { true: true, false: false, null: null }[node.value];
  if (node.kind === "list") return node.items.map(plainOf);
  const plain = {};
  for (const { name, value } of node.members)
    Object.defineProperty(plain, name, { value: plainOf(value), enumerable: true, configurable: true, writable: true });
  return plain;
};

/** What came of reading; any failure but a refusal is thrown. */
const outcomeOf = (
  read: () => unknown,
  Refusal: new (...given: never[]) => Error,
): { readonly value: unknown } | undefined => {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
};

describe("readJson", () => {
  test("reads what JSON.parse reads to the same value, and refuses what it refuses", { timeout: 600_000 }, () => {
    const count = rounds(30_000, 1_000_000);
    const differences: unknown[] = [];
    const seen = { read: 0, refused: 0 };
    for (let seed = 1; seed <= count; seed += 1) {
      const random = seededRandom(seed);
      const valid = documentOf(random);
      const text = random.chance(0.3) ? valid : mutated(random, valid);
      const own = outcomeOf(() => plainOf(readJson(text)), PatternError);
      const expected = outcomeOf(() => JSON.parse(text) as unknown, SyntaxError);
      seen[expected === undefined ? "refused" : "read"] += 1;
      const isSame = own === undefined || expected === undefined ? own === expected : isReadAs(text, own.value);
      if (!isSame) differences.push({ seed, text, own, expected });
    }
    expect(differences.slice(0, 5)).toEqual([]);
    expect(seen.read).toBeGreaterThan(count / 4);
    expect(seen.refused).toBeGreaterThan(count / 4);
  });

  test("keeps what JSON.parse loses: repeated members and the spelling of numbers", () => {
    const node = readJson('{"a":1.0,"a":12345678901234567890}');
    expect(node).toEqual({
      kind: "object",
      members: [
        { name: "a", value: { kind: "number", text: "1.0", end: 8 } },
        { name: "a", value: { kind: "number", text: "12345678901234567890", end: 33 } },
      ],
      end: 34,
    });
  });

  test("refuses more than 1000 levels, which JSON.parse reads", () => {
    expect(readJson("[".repeat(1_001) + "]".repeat(1_001)).kind).toBe("list");
    expect(() => readJson("[".repeat(1_002) + "]".repeat(1_002))).toThrow("more than 1000 levels are nested");
    expect(() => readJson("[".repeat(1_000_000))).toThrow("more than 1000 levels are nested");
  });
});
