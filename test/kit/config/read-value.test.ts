import { describe, expect, test } from "vitest";
import * as z from "zod";

import { ConfigError } from "../../../services/kit/config/config-error.ts";
import { memberPlace, readValue } from "../../../services/kit/config/read-value.ts";

const colour = z.string().regex(/^[a-z]+$/, "must have small letters");
const pen = z.strictObject({ colour, inks: z.array(colour).optional(), tip: z.enum(["FINE", "BROAD"]).optional() });
const box = z.record(z.string().regex(/^[0-9]+$/), pen, {
  error: ({ code }) => (code === "invalid_key" ? "must be named with digits" : undefined),
});
const source = z.union([colour, z.strictObject({ file: colour })]);

test("a value is read as its schema says", () => {
  expect(readValue(box, { "7": { colour: "red", inks: ["blue"] } }, "pens")).toEqual({
    "7": { colour: "red", inks: ["blue"] },
  });
  expect(readValue(source, { file: "red" }, "from")).toEqual({ file: "red" });
});

describe("a refusal says the place and quotes no value", () => {
  // value, message
  test.each([
    [{ "7": { colour: "red", size: 1 } }, 'pens["7"].size is not known; known are colour, inks, tip'],
    [{ "7": { color: "red" } }, 'pens["7"].color is not known; known are colour, inks, tip'],
    [{ "7": { colour: "red", toString: 1 } }, 'pens["7"].toString is not known; known are colour, inks, tip'],
    [
      JSON.parse('{"7": {"colour": "red", "__proto__": {}}}'),
      'pens["7"].__proto__ is not known; known are colour, inks, tip',
    ],
    [{ "7": {} }, 'pens["7"].colour is missing'],
    [{ "7": { colour: 1 } }, 'pens["7"].colour must be a string'],
    [{ "7": { colour: "RED" } }, 'pens["7"].colour must have small letters'],
    [{ "7": { colour: "red", inks: {} } }, 'pens["7"].inks must be a list'],
    [{ "7": { colour: "red", inks: ["a", "B"] } }, 'pens["7"].inks[1] must have small letters'],
    [{ "7": { colour: "red", tip: "fine" } }, 'pens["7"].tip must be one of FINE, BROAD'],
    [{ "7": { colour: "red", tip: 1 } }, 'pens["7"].tip must be one of FINE, BROAD'],
    [{ seven: { colour: "red" } }, "pens.seven must be named with digits"],
    [{ "7": null }, 'pens["7"] must be an object'],
    [[], "pens must be an object"],
  ])("of %j", (value, message) => {
    expect(() => readValue(box, value, "pens")).toThrow(new ConfigError(message));
  });

  // value, message
  test.each([
    ["RED", "from must have small letters"],
    [{ file: "RED" }, "from.file must have small letters"],
    [{ path: "red" }, "from.path is not known; known are file"],
    [{}, "from.file is missing"],
    [3, "from must be a string or an object"],
  ])("of %j where two types are possible", (value, message) => {
    expect(() => readValue(source, value, "from")).toThrow(new ConfigError(message));
  });

  test("of a whole file that is not an object", () => {
    expect(() => readValue(pen, [])).toThrow(new ConfigError("it must be an object"));
  });
});

// place, name, expected
test.each([
  ["", "accounts", "accounts"],
  ["accounts", "111122223333", 'accounts["111122223333"]'],
  ["users", 0, "users[0]"],
  ["users[0]", "name", "users[0].name"],
  ["", 'a"b', '["a\\"b"]'],
])("a member of %j named %j is at %s", (place, name, expected) => {
  expect(memberPlace(place, name)).toBe(expected);
});
