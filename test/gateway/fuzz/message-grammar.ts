import type { DescEnum, DescMessage, Message } from "@bufbuild/protobuf";
import { create, ScalarType } from "@bufbuild/protobuf";

import { isInstant, setField } from "../../../gateway/values/scalars.ts";
import type { TextConstraints } from "../../../services/kit/contract/constraints.ts";
import type { FieldContract } from "../../../services/kit/contract/contract.ts";
import { messageContract } from "../../../services/kit/contract/contract.ts";
import { enumSpellings } from "../../../services/kit/contract/spellings.ts";
import type { Random } from "./random.ts";

/** Values that answers told, by the name of their member, so that later requests name what exists. */
export class Learned {
  readonly #values = new Map<string, string[]>();

  learn(name: string, value: string): void {
    const key = memberKey(name);
    const values = this.#values.get(key) ?? [];
    this.#values.set(key, values);
    if (values.includes(value) || value.length > 2_000) return;
    values.push(value);
    if (values.length > 40) values.shift();
  }

  some(name: string, random: Random): string | undefined {
    const values = this.#values.get(memberKey(name));
    return values === undefined ? undefined : random.one(values);
  }
}

const memberKey = (name: string): string => name.toLowerCase().replaceAll("_", "").replace("identifier", "id");

/** The only address that a request may name: nobody listens there, and it is this machine. */
export const deadUrl = "https://127.0.0.1:1/dead";

/** Texts for members that need a text of their own kind, by what their names contain. The first that fits counts. */
const namedTexts: readonly (readonly [RegExp, readonly string[]])[] = [
  [/ur[il]$|endpoint$|_url|redirect/, [deadUrl]],
  [/^bucket$|^target_bucket/, ["fuzz-photos", "fuzz-photos", "fuzz-photos", "fuzz-plain", "fuzz-none", "Fuzz_Bad"]],
  [/^key$|marker|prefix|start_after/, ["cat.jpg", "a/b", "a/", "é", "a b+c", "k".repeat(1_100), "%"]],
  [/copy_source$/, ["fuzz-photos/cat.jpg", "/fuzz-photos/a%2Fb", "fuzz-none/x", "x"]],
  [/range/, ["bytes=0-9", "bytes=-1", "bytes=5-", "bytes=9-1", "lines=1-2"]],
  [
    /_arn$|^arn$|resource/,
    ["arn:aws:events:us-east-1:000000000000:rule/fuzz", "arn:aws:s3:::fuzz-photos", "arn:svc:x"],
  ],
  [/event_pattern|^pattern/, ['{"source":["fuzz"]}', '{"detail":{"a":[{"exists":true}]}}', "{}", "["]],
  [/schedule/, ["rate(5 minutes)", "cron(0 12 * * ? *)", "rate(x)"]],
  [/detail$|input$|policy$|attributes|statement/, ['{"a":1}', '{"b":"ü"}', "[]", "{"]],
  [/expected_bucket_owner|account|^principal/, ["000000000000", "111111111111", "x"]],
  [/tagging$/, ["a=b&c=d", "a=1&a=2", "%"]],
  [/e_?tag|if_(?:none_)?match/, ['"d41d8cd98f00b204e9800998ecf8427e"', "*", "x"]],
  [/name|domain|id$|identifier/, ["fuzz", "fuzz-2", "default", "none"]],
];

const anyTexts = ["fuzz", "a", "é\u{1f600}", "<&>\"'", "\u0001", "", "0", "x".repeat(300)];

/**
 * A message of a type, most often one that its constraints allow. The density says how many optional members it has, in
 * percent.
 */
export const randomMessage = (
  desc: DescMessage,
  random: Random,
  learned: Learned,
  density = random.one([1, 1, 8, 25]),
  depth = 0,
): Message => {
  const message = create(desc);
  for (const field of messageContract(desc).fields) {
    if (field.location.kind === "rpcOnly" || isStreamedBody(field)) continue;
    if (!random.chance(isNeeded(field) ? 98 : density + depth * 10)) continue;
    const value = fieldValue(field, random, learned, density, depth);
    if (value !== undefined) setField(message, field.desc, value);
  }
  return message;
};

const isNeeded = (field: FieldContract): boolean =>
  field.constraints.isRequired || field.location.kind === "label" || field.location.kind === "payload";

const isStreamedBody = (field: FieldContract): boolean =>
  field.location.kind === "payload" && field.desc.fieldKind === "scalar" && field.desc.scalar === ScalarType.BYTES;

const fieldValue = (
  field: FieldContract,
  random: Random,
  learned: Learned,
  density: number,
  depth: number,
): unknown => {
  const { desc, constraints } = field;
  const element = constraints.element ?? noConstraints;
  const simple = (scalar: ScalarType, texts: TextConstraints) => scalarValue(field, scalar, texts, random, learned);
  switch (desc.fieldKind) {
    case "enum":
      return enumValue(desc.enum, random);
    case "scalar":
      return simple(desc.scalar, constraints);
    case "message":
      return isInstant(desc) ? instant(random) : nested(desc.message, random, learned, density, depth);
    case "list": {
      const item = (): unknown => {
        if (desc.enum !== undefined) return enumValue(desc.enum, random);
        if (desc.message !== undefined) return nested(desc.message, random, learned, density, depth);
        return simple(desc.scalar, element);
      };
      return Array.from({ length: random.one([1, 1, 2, 3, random.chance(5) ? 60 : 0]) }, item).filter(isSomething);
    }
    case "map": {
      const entries = Array.from({ length: random.below(4) }, () => {
        const key = random.one(["a", "fuzz", "x-y", "__proto__"]);
        const value =
          desc.message === undefined
            ? desc.enum === undefined
              ? simple(desc.scalar, element)
              : enumValue(desc.enum, random)
            : nested(desc.message, random, learned, density, depth);
        return [key, value] as const;
      });
      return Object.fromEntries(entries.filter(([, value]) => isSomething(value)));
    }
  }
};

const isSomething = (value: unknown): boolean => value !== undefined;

const noConstraints: TextConstraints = { lengthMin: undefined, lengthMax: undefined, pattern: undefined, oneOf: [] };

const nested = (
  desc: DescMessage,
  random: Random,
  learned: Learned,
  density: number,
  depth: number,
): Message | undefined => (depth > 4 ? undefined : randomMessage(desc, random, learned, density, depth + 1));

const enumValue = (desc: DescEnum, random: Random): number => random.one(enumSpellings(desc).values).number;

const instant = (random: Random): unknown => ({
  $typeName: "google.protobuf.Timestamp",
  seconds: BigInt(random.one([0, 1_700_000_000, 1_900_000_000, 253_402_300_799])),
  nanos: random.one([0, 123_000_000]),
});

const scalarValue = (
  field: FieldContract,
  scalar: ScalarType,
  constraints: TextConstraints,
  random: Random,
  learned: Learned,
): unknown => {
  const { rangeMin = 0n, rangeMax = 10_000n } = field.constraints;
  switch (scalar) {
    case ScalarType.STRING:
      return textValue(field.desc.name, constraints, random, learned);
    case ScalarType.BOOL:
      return random.chance(50);
    case ScalarType.BYTES:
      return Buffer.from(random.one(["", "fuzz", "\u0000\u00ff"]), "latin1");
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return random.one([0, 1.5, -1, 1e300]);
    default: {
      const value = random.one([rangeMin, rangeMax, rangeMin + 1n, 5n, random.chance(10) ? -1n : 1n]);
      const isWide = [ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.SFIXED64].includes(scalar);
      return isWide ? value : Number(BigInt.asIntN(31, value));
    }
  }
};

const textValue = (name: string, constraints: TextConstraints, random: Random, learned: Learned): string => {
  if (constraints.oneOf.length > 0 && random.chance(95)) return random.one(constraints.oneOf);
  const named = namedTexts.find(([words]) => words.test(name))?.[1];
  // Whatever names an address is never learned or left to chance.
  if (named?.[0] === deadUrl) return deadUrl;
  const known = random.chance(60) ? learned.some(name, random) : undefined;
  if (known !== undefined) return known;
  const text = random.one(named === undefined || random.chance(10) ? anyTexts : named);
  const { lengthMin = 0, lengthMax = 10_000 } = constraints;
  return random.chance(90) ? text.slice(0, lengthMax).padEnd(Math.min(lengthMin, 2_000), "x") : text;
};
