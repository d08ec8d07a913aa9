import { expect, test } from "vitest";

import { readForm } from "../../../gateway/forms/read-form.ts";
import { boundary, formPart } from "../support/form.ts";
import { reasonOf } from "../support/refused.ts";

async function* arriving(parts: Iterable<string>): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

const times = (count: number, part: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => part(at));

const file = formPart("file", "Emma", "emma.txt");

const outcomeOf = async (parts: readonly string[]): Promise<unknown> => {
  try {
    return (await readForm(arriving(parts), boundary)).fields.size;
  } catch (thrown) {
    return reasonOf(thrown);
  }
};

test.each([
  // what a form has before its file, its parts, the number of its fields or the refusal
  ["as many fields as are allowed", times(100, (at) => formPart(`f${at}`, "")), 100],
  ["a field too many", times(101, (at) => formPart(`f${at}`, "")), "FORM_TOO_LARGE"],
  ["one field too often", times(101, () => formPart("f", "")), "FORM_TOO_LARGE"],
  ["long names without values", times(10, (at) => formPart(`${at}${"f".repeat(7_000)}`, "")), "FORM_TOO_LARGE"],
  ["long values", times(10, (at) => formPart(`f${at}`, "v".repeat(7_000))), "FORM_TOO_LARGE"],
  ["a name and a value that fill the limit together", [formPart("f", "v".repeat(65_490))], 1],
  ["a byte more than the limit", [formPart("f", "v".repeat(65_491))], "FORM_TOO_LARGE"],
  [
    "names and values that are long together",
    times(10, () => formPart("f".repeat(4_000), "v".repeat(4_000))),
    "FORM_TOO_LARGE",
  ],
] as const)("%s", async (_name, parts, expected) => {
  expect(await outcomeOf([...parts, file])).toBe(expected);
});

test("fields without end are refused before their end", async () => {
  const endless = function* (): Generator<string> {
    for (;;) yield formPart("f".repeat(7_000), "");
  };
  await expect(readForm(arriving(endless()), boundary)).rejects.toMatchObject({ facts: { reason: "FORM_TOO_LARGE" } });
});
