import { create, toBinary } from "@bufbuild/protobuf";
import { ListValueSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import { CompleteMultipartUploadRequestSchema } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { UpdateProfileRequestSchema } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { PutEventsRequestSchema } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { valuesMaxOf } from "../../../services/kit/contract/values-max.ts";
import { refuseManyJsonValues, refuseManyValues } from "../../../services/kit/wire/request-values.ts";
import { turnsOf } from "../../support/turns.ts";

const entries = PutEventsRequestSchema.field.entries.number;
const tag = (number: number): number => (number << 3) | 2;
/** A member of bytes, with its length in two. */
const member = (number: number, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([tag(number), (content.length & 0x7f) | 0x80, content.length >> 7]), content]);

const messageOf = (run: () => void): string | undefined => {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

test("a message may have as many values as the lists of its type may declare, and some more", () => {
  expect(valuesMaxOf(UpdateProfileRequestSchema)).toBe(25_000);
  // Ten entries of nine members.
  expect(valuesMaxOf(PutEventsRequestSchema)).toBe(25_090);
  // It is not declared how many parts there may be.
  expect(valuesMaxOf(CompleteMultipartUploadRequestSchema)).toBe(100_000);
});

describe("bytes with too many values are refused", () => {
  const empty = Buffer.from([tag(entries), 0]);
  test.each([
    ["items of a list", Buffer.concat(Array.from({ length: 25_091 }, () => empty)), 25_090],
    [
      "members of an item",
      // Each has 12 values: the item, and ten times a text of ten bytes, which is read each time.
      Buffer.concat(
        Array.from({ length: 2_300 }, () =>
          member(entries, Buffer.concat(Array.from({ length: 10 }, () => member(3, Buffer.alloc(10))))),
        ),
      ),
      25_090,
    ],
    ["members that nobody knows", Buffer.concat(Array.from({ length: 30_000 }, () => Buffer.from([0x78, 1]))), 25_090],
    [
      "items whose tags tell another type, which the library does not look at",
      Buffer.concat(Array.from({ length: 26_000 }, () => Buffer.from([(entries << 3) | 1, 0]))),
      25_090,
    ],
    ["members of a group", Buffer.concat(Array.from({ length: 30_000 }, () => Buffer.from([0x7b, 0x7c]))), 25_090],
  ])("%s", (_what, bytes, max) => {
    expect(() => refuseManyValues(PutEventsRequestSchema, bytes)).toThrow(`The request has more than ${max} values.`);
  });

  test("keys of an entry after its first", () => {
    const { attributes } = UpdateProfileRequestSchema.field;
    const key = Buffer.from([0x0a, 0]);
    const content = Buffer.concat(Array.from({ length: 26_000 }, () => key));
    const length = [0, 7, 14].map((shift) => ((content.length >> shift) & 0x7f) | (shift < 14 ? 0x80 : 0));
    const bytes = Buffer.concat([Buffer.from([(attributes.number << 3) | 2, ...length]), content]);
    expect(messageOf(() => refuseManyValues(UpdateProfileRequestSchema, bytes))).toBe(
      "The request has more than 25000 values.",
    );
  });

  test.each([
    // lists, the refusal
    [49, undefined],
    [51, "The request has more than 100000 values."],
  ])("%i lists in lists: %s", (depth, refusal) => {
    const within = (number: number, content: Buffer): Buffer => {
      const length = [0, 7, 14].map((shift) => ((content.length >> shift) & 0x7f) | (shift < 14 ? 0x80 : 0));
      return Buffer.concat([Buffer.from([tag(number), ...length]), content]);
    };
    const { stringValue, listValue } = ValueSchema.field;
    let bytes = within(stringValue.number, Buffer.alloc(60_000, "a"));
    for (let at = 0; at < depth; at += 1)
      bytes = within(listValue.number, within(ListValueSchema.field.values.number, bytes));
    expect(messageOf(() => refuseManyValues(ValueSchema, bytes))).toBe(refusal);
  });
});

test("what is not counted: bytes of texts, what ends in the middle, and messages that are too short", () => {
  const message = create(PutEventsRequestSchema, {
    entries: [{ detail: ",".repeat(200_000), source: "a" }, { detail: "\u0012\0".repeat(50_000) }],
  });
  expect(() => refuseManyValues(PutEventsRequestSchema, toBinary(PutEventsRequestSchema, message))).not.toThrow();
  const cut = Buffer.concat([Buffer.from([tag(entries), 0xff, 0xff, 0x7f]), Buffer.alloc(60_000)]);
  expect(() => refuseManyValues(PutEventsRequestSchema, cut)).not.toThrow();
  expect(() => refuseManyValues(PutEventsRequestSchema, Buffer.alloc(50_000, "\u0012\0"))).not.toThrow();
});

test("4 MiB of the smallest values are counted in less than a tenth of the time in which they are decoded", async () => {
  const bytes = Buffer.alloc(4 * 1024 * 1024, Buffer.from([tag(entries), 0]));
  const json = Buffer.from(`{"entries":[${"{},".repeat(1_390_000)}{}]}`);
  const { all } = await turnsOf(async () => {
    expect(() => refuseManyValues(PutEventsRequestSchema, bytes)).toThrow("more than 25090 values");
    expect(() => refuseManyJsonValues(PutEventsRequestSchema, json)).toThrow("more than 25090 values");
  });
  // 564 and 732 ms.
  expect(all).toBeLessThan(60);
});
