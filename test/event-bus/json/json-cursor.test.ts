import { describe, expect, test } from "vitest";

import {
  JsonCursor,
  nestingDepth,
  openBrace,
  openBracket,
  quote,
} from "../../../services/event-bus/json/json-cursor.ts";
import { PathReader } from "../../../services/event-bus/json/json-path.ts";
import type { JsonNode } from "../../../services/event-bus/pattern/json-text.ts";
import { readJson } from "../../../services/event-bus/pattern/json-text.ts";
import { seededRandom } from "../../kit/store/seeded-random.ts";
import { rounds } from "../../support/rounds.ts";
import { documentOf, isReadAs, shown } from "./generated-json.ts";

/** The value that a cursor walks over, member by member; every other value is taken by its spelling instead. */
const walked = (cursor: JsonCursor, isSpelled: () => boolean): unknown => {
  if (isSpelled()) return JSON.parse(cursor.value()) as unknown;
  const first = cursor.peek();
  if (first === quote) return cursor.string();
  if (first === openBracket) {
    const items: unknown[] = [];
    cursor.enter();
    while (cursor.hasMore()) items.push(walked(cursor, isSpelled));
    return items;
  }
  if (first !== openBrace) return JSON.parse(cursor.literal()) as unknown;
  const members = {};
  cursor.enter();
  while (cursor.hasMore()) {
    const name = cursor.memberName();
    const member = { value: walked(cursor, isSpelled), enumerable: true, configurable: true, writable: true };
    Object.defineProperty(members, name, member);
  }
  return members;
};

const depthOf = (node: JsonNode): number => {
  if (node.kind === "list") return 1 + Math.max(0, ...node.items.map(depthOf));
  return node.kind === "object" ? 1 + Math.max(0, ...node.members.map(({ value }) => depthOf(value))) : 0;
};

/** Some paths into a value that paths can be written for, with what they name. */
const pathsInto = (value: unknown, path = "$"): [path: string, value: unknown][] => {
  if (typeof value !== "object" || value === null) return [[path, value]];
  const inner = Array.isArray(value)
    ? value.flatMap((item, index) => pathsInto(item, `${path}[${index}]`))
    : Object.entries(value).flatMap(([name, member]) =>
        /^[^.[\]]+$/.test(name) ? pathsInto(member, `${path}.${name}`) : [],
      );
  return [[path, value], ...inner];
};

const count = rounds(20_000, 500_000);

describe("JsonCursor", () => {
  test("walks over any document to the values that JSON.parse has", { timeout: 600_000 }, () => {
    const differences: unknown[] = [];
    for (let seed = 1; seed <= count; seed += 1) {
      const random = seededRandom(seed);
      const text = documentOf(random);
      const own = walked(new JsonCursor(text), () => random.chance(0.2));
      if (!isReadAs(text, own)) differences.push({ seed, text, own });
    }
    expect(differences.slice(0, 5)).toEqual([]);
  });
});

describe("PathReader and nestingDepth", () => {
  test("agree with JSON.parse in any document", { timeout: 600_000 }, () => {
    const differences: unknown[] = [];
    for (let seed = 1; seed <= count; seed += 1) {
      const random = seededRandom(seed);
      const text = documentOf(random);
      const parsed: unknown = JSON.parse(text);
      const reader = new PathReader(text);
      const paths = pathsInto(parsed);
      for (const [path, value] of [random.pick(paths), random.pick(paths), random.pick(paths)]) {
        const found = reader.read(path);
        if (found === undefined || shown(JSON.parse(found)) !== shown(value))
          differences.push({ seed, text, path, found });
      }
    }
    expect(differences.slice(0, 5)).toEqual([]);
  });

  test("count the levels of any document, repeated members included", () => {
    const differences: unknown[] = [];
    for (let seed = 1; seed <= count / 10; seed += 1) {
      const text = documentOf(seededRandom(seed));
      if (nestingDepth(text) !== depthOf(readJson(text))) differences.push({ seed, text });
    }
    expect(differences).toEqual([]);
  });
});
