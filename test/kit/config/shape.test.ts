import { describe, expect, test } from "vitest";

import {
  choiceShape,
  documentShape,
  listShape,
  mapShape,
  memberPath,
  objectShape,
  oneOfShape,
  textOrObjectShape,
  textShape,
} from "../../../services/kit/config/shape.ts";

const colour = textShape("A colour.", /^[a-z]+$/, "small letters");
const pen = objectShape("A pen.", { colour }, { inks: listShape("Inks.", colour) });
const box = mapShape("Pens by number.", /^[0-9]+$/, "digits", pen);
const source = textOrObjectShape("From.", colour, oneOfShape("Where.", { file: colour, variable: colour }));

describe("a shape", () => {
  test("reads what fits", () => {
    expect(box.read({ "7": { colour: "red", inks: ["blue"] } }, "pens")).toEqual(
      new Map([["7", { colour: "red", inks: ["blue"] }]]),
    );
    expect(source.read("red", "from")).toBe("red");
    expect(source.read({ file: "red" }, "from")).toEqual({ file: "red" });
    expect(documentShape("Any.").read({ a: [1] }, "any")).toEqual({ a: [1] });
  });

  // value, message
  test.each([
    [{ "7": { colour: "red", size: 1 } }, 'pens["7"].size is not known; known are colour, inks'],
    [{ "7": { colour: "red", toString: 1 } }, 'pens["7"].toString is not known; known are colour, inks'],
    [
      JSON.parse('{"7": {"colour": "red", "__proto__": {}}}'),
      'pens["7"].__proto__ is not known; known are colour, inks',
    ],
    [{ "7": {} }, 'pens["7"].colour is missing'],
    [{ "7": { colour: 1 } }, 'pens["7"].colour must be a string'],
    [{ "7": { colour: "RED" } }, 'pens["7"].colour must have small letters'],
    [{ "7": { colour: "red", inks: {} } }, 'pens["7"].inks must be a list'],
    [{ "7": { colour: "red", inks: ["a", "B"] } }, 'pens["7"].inks[1] must have small letters'],
    [{ seven: { colour: "red" } }, "pens.seven must be named with digits"],
    [{ "7": null }, 'pens["7"] must be an object'],
    [[], "pens must be an object"],
  ])("refuses %j with the path", (value, message) => {
    expect(() => box.read(value, "pens")).toThrow(message);
  });

  // value, message
  test.each([
    [{}, "from must have exactly one of file, variable"],
    [{ file: "a", variable: "b" }, "from must have exactly one of file, variable"],
    [3, "from must be a string or an object"],
  ])("refuses %j where one of several is expected", (value, message) => {
    expect(() => source.read(value, "from")).toThrow(message);
  });

  test("takes one of some texts and no other", () => {
    const state = choiceShape("State.", ["ON", "OFF"]);
    expect(state.read("ON", "state")).toBe("ON");
    expect(() => state.read("on", "state")).toThrow("state must be one of ON, OFF");
    expect(() => state.read(1, "state")).toThrow("state must be one of ON, OFF");
    expect(state.schema).toEqual({ type: "string", enum: ["ON", "OFF"], description: "State." });
  });

  test("tells an editor the same as a schema", () => {
    expect(box.schema).toEqual({
      type: "object",
      propertyNames: { pattern: "^[0-9]+$" },
      additionalProperties: {
        type: "object",
        properties: {
          colour: { type: "string", pattern: "^[a-z]+$", description: "A colour." },
          inks: {
            type: "array",
            items: { type: "string", pattern: "^[a-z]+$", description: "A colour." },
            description: "Inks.",
          },
        },
        required: ["colour"],
        additionalProperties: false,
        description: "A pen.",
      },
      description: "Pens by number.",
    });
  });
});

// path, name, expected
test.each([
  ["", "accounts", "accounts"],
  ["accounts", "111122223333", 'accounts["111122223333"]'],
  ["users[0]", "name", "users[0].name"],
  ["", 'a"b', '["a\\"b"]'],
])("a member of %j named %j stands at %s", (path, name, expected) => {
  expect(memberPath(path, name)).toBe(expected);
});
