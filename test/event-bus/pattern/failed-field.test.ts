import { expect, test, vi } from "vitest";

import { failedField } from "../../../services/event-bus/pattern/failed-field.ts";
import { flattenText } from "../../../services/event-bus/pattern/flatten.ts";
import { Matcher } from "../../../services/event-bus/pattern/matcher.ts";
import { parsePattern } from "../../../services/event-bus/pattern/parse.ts";

const failed = (pattern: string, event: string): Promise<string | undefined> =>
  failedField(parsePattern(pattern), (wanted) => flattenText(event, wanted), { owner: "a" });

// pattern, event, the first field that fails
test.for([
  ['{"a":[1]}', '{"a":1}', undefined],
  ['{"a":[1]}', '{"a":2}', "a"],
  ['{"a":[1]}', "{}", "a"],
  ['{"b":[1],"a":[2]}', '{"a":1,"b":2}', "a"],
  ['{"b":[1],"a":[2]}', '{"a":2,"b":2}', "b"],
  ['{"a":{"b":[1],"c":[2]}}', '{"a":[{"b":1},{"c":2}]}', "a.c"],
  ['{"a":{"b":[1],"c":[2]},"d":[3]}', '{"a":[{"b":1},{"c":2}],"d":3}', "a.c"],
  ['{"a":{"b":[1],"c":[2]},"d":[3]}', '{"a":[{"b":1,"c":2},{"c":2}],"d":4}', "d"],
  ['{"a":{"b":[1],"c":[{"exists":false}]}}', '{"a":[{"b":1},{"b":2,"c":3}]}', undefined],
  ['{"a":{"b":[1],"c":[{"exists":false}]}}', '{"a":[{"b":1,"c":2},{"b":2,"c":3}]}', "a.c"],
  ['{"a":{"b":[1],"c":[{"exists":false}],"d":[5]}}', '{"a":[{"b":1,"c":2,"d":5},{"b":2,"c":3}]}', "a.c"],
  ['{"$or":[{"a":[1]},{"a":[2],"b":[3]}]}', '{"a":2}', "b"],
  ['{"$or":[{"a":[1],"b":[3]},{"a":[2],"b":[3]}]}', '{"a":2,"b":3}', undefined],
  ['{"$or":[{"a":[1],"b":[3]},{"a":[2],"b":[3],"c":[4]}],"d":[5]}', '{"a":2,"b":3,"d":5}', "c"],
] as const)("of %s the event %s fails at %s", async ([pattern, event, field]) => {
  expect(await failed(pattern, event)).toBe(field);
});

test("a rule of many fields is compiled a few times", async () => {
  const names = Array.from({ length: 300 }, (_none, index) => `f${index}`);
  const pattern = JSON.stringify({ a: Object.fromEntries(names.map((name) => [name, [1]])) });
  const element = (left: string) => Object.fromEntries(names.filter((name) => name !== left).map((name) => [name, 1]));
  const compile = vi.spyOn(Matcher.prototype, "withInTurns");
  // Each field is in some element, but no element has all of them.
  expect(await failed(pattern, JSON.stringify({ a: [element("f5"), element("f99")] }))).toBe("a.f99");
  expect(compile.mock.calls.length).toBeLessThan(12);
});

test("it ends with the reason for which it was given up", async () => {
  const reason = new Error("enough");
  const pattern = parsePattern('{"a":[1]}');
  const asker = { owner: "a", givenUp: () => reason };
  await expect(failedField(pattern, (wanted) => flattenText('{"a":1}', wanted), asker)).rejects.toBe(reason);
});
