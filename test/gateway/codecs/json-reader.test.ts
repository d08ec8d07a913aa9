import { expect, test } from "vitest";

import { PutEventsRequestSchema } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { parseJson } from "../../../gateway/codecs/json-reader.ts";
import { turnsOf } from "../../support/turns.ts";
import { refused } from "../support/refused.ts";

const parse = (text: string): unknown => parseJson(Buffer.from(text), PutEventsRequestSchema);

test.each([
  // what, text, value
  ["a number that a double holds", "9007199254740991", 9007199254740991],
  ["a number that a double does not hold", "9007199254740993", 9007199254740993n],
  ["the largest number of any field", "18446744073709551615", 18446744073709551615n],
  ["a number of 20 digits", `-${"9".repeat(20)}`, -99999999999999999999n],
  // Its exact value does not matter, because no field holds it; converting it would take seconds.
  ["a number of 21 digits", "1".repeat(21), 111111111111111110000],
  ["a number of four million digits", "9".repeat(4_000_000), Infinity],
] as const)("%s", (_name, text, value) => {
  expect(parse(text)).toBe(value);
});

test("a document of more values than its message may have is refused before it is parsed", async () => {
  const problem = "The body has more than 25090 values.";
  expect(parse(`[${"0,".repeat(25_088)}0]`)).toHaveLength(25_089);
  expect(() => parse(`[${"0,".repeat(25_089)}0]`)).toThrow(refused("MALFORMED_BODY", { problem }));
  // One long number makes the platform call back for each of the others: 1.5 s of CPU for 4 MiB.
  const long = `[${"0,".repeat(2_000_000)}1234567890123456]`;
  const { longest } = await turnsOf(async () =>
    expect(() => parse(long)).toThrow(refused("MALFORMED_BODY", { problem })),
  );
  expect(longest).toBeLessThan(100);
});
