import { create, ScalarType } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import {
  instantFromSeconds,
  instantFromText,
  instantToText,
  isUnset,
  ScalarError,
  scalarFromText,
} from "../../../gateway/values/scalars.ts";
import { RecordsEventSchema, SelectEventSchema } from "../../../gen/quartet/objectstorage/v1/select_pb.ts";
import { CreateReaderRequestSchema } from "../../../gen/quartet/test/gateway/v1/reader_service_pb.ts";
import { TimestampFormat } from "../../../gen/quartet/traits/v1/binding_pb.ts";

test.each([
  // seconds since 1970, nanoseconds, text
  [0n, 0, "1970-01-01T00:00:00.000Z"],
  [-1n, 999_000_000, "1969-12-31T23:59:59.999Z"],
  [951_827_696n, 7_000_000, "2000-02-29T12:34:56.007Z"],
  [951_868_799n, 999_999_999, "2000-02-29T23:59:59.999Z"],
  [951_868_800n, 0, "2000-03-01T00:00:00.000Z"],
  [951_827_696n, 40_000_000, "2000-02-29T12:34:56.040Z"],
  [253_402_300_800n, 0, "+010000-01-01T00:00:00.000Z"],
] as const)("the instant %d and %d ns is %s, whichever was written before", (seconds, nanos, text) => {
  expect(instantToText(create(TimestampSchema, { seconds, nanos }), TimestampFormat.DATE_TIME)).toBe(text);
});

test.each([
  // format, text
  ["DATE_TIME", "2026-01-02T03:04:05.678Z"],
  ["DATE_TIME_OF_SECOND", "2026-01-02T03:04:05.000Z"],
  ["HTTP_DATE", "Fri, 02 Jan 2026 03:04:05 GMT"],
  ["EPOCH_SECONDS", "1767323045.678"],
] as const)("an instant in the format %s is %s", (format, text) => {
  const instant = create(TimestampSchema, { seconds: 1_767_323_045n, nanos: 678_900_000 });
  expect(instantToText(instant, TimestampFormat[format])).toBe(text);
});

describe("the text of a scalar", () => {
  test.each([
    // type, text, value
    ["STRING", " a ", " a "],
    ["BOOL", " True ", true],
    ["BOOL", "FALSE", false],
    ["DOUBLE", " 1.5e3 ", 1_500],
    ["INT32", "2147483647", 2_147_483_647],
    ["INT32", "-2147483648", -2_147_483_648],
    ["INT32", " +7 ", 7],
    ["UINT32", "4294967295", 4_294_967_295],
    ["UINT32", "-0", 0],
    ["INT64", "9223372036854775807", 9_223_372_036_854_775_807n],
    ["INT64", "-9223372036854775808", -9_223_372_036_854_775_808n],
    ["UINT64", "18446744073709551615", 18_446_744_073_709_551_615n],
    ["INT64", "00000000000000000001", 1n],
  ] as const)("of type %s %j is read as %s", (type, text, value) => {
    expect(scalarFromText(ScalarType[type], text)).toEqual(value);
  });

  const [whole, inRange] = ["Member must be a whole number", "Member must be a whole number in range"];

  test.each([
    // type, text, why
    ["BOOL", "1", "Member must be true or false"],
    ["BOOL", "", "Member must be true or false"],
    ["BOOL", "trues", "Member must be true or false"],
    ["BOOL", "nofalse", "Member must be true or false"],
    ["DOUBLE", "", "Member must be a number"],
    ["DOUBLE", " ", "Member must be a number"],
    ["DOUBLE", "one", "Member must be a number"],
    ["INT32", "", whole],
    ["INT32", "1.0", whole],
    ["INT32", "1e3", whole],
    ["INT32", "--1", whole],
    ["INT32", "0x10", whole],
    ["INT64", "000000000000000000001", whole],
    ["INT32", "2147483648", inRange],
    ["INT32", "-2147483649", inRange],
    ["UINT32", "4294967296", inRange],
    ["UINT32", "-1", inRange],
    ["INT64", "9223372036854775808", inRange],
    ["INT64", "-9223372036854775809", inRange],
    ["UINT64", "18446744073709551616", inRange],
    ["UINT64", "-1", inRange],
  ] as const)("of type %s is not %j", (type, text, why) => {
    expect(() => scalarFromText(ScalarType[type], text)).toThrow(new ScalarError(why));
  });
});

describe("the text of an instant", () => {
  test.each([
    // text, seconds, nanoseconds
    ["1970-01-01T00:00:01Z", 1n, 0],
    ["1970-01-01T00:00:00.123456789Z", 0n, 123_456_789],
    ["1970-01-01", 0n, 0],
    ["1969-12-31T23:59:59.5Z", -1n, 500_000_000],
    ["1970-01-01T01:00:00+01:00", 0n, 0],
    ["Thu, 01 Jan 1970 00:00:02 GMT", 2n, 0],
    [" 1.0015 ", 1n, 2_000_000],
    ["-0.5", -1n, 500_000_000],
    ["1e3", 1_000n, 0],
    ["8640000000000", 8_640_000_000_000n, 0],
    ["-8640000000000", -8_640_000_000_000n, 0],
  ] as const)("%j is read", (text, seconds, nanos) => {
    expect(instantFromText(text)).toMatchObject({ seconds, nanos });
  });

  test.each([
    "",
    "yesterday",
    "1970-13-01",
    "1970-01-01T25:00:00Z",
    "1970-01-01T00:00:00Zulu",
    "1 Jan 1970",
    "8640000000000.001",
    "-8640000000000.001",
    "1e300",
    "1e999",
    "NaN",
    "Infinity",
    "0x10",
    "1_000",
  ])("%j is refused", (text) => {
    expect(() => instantFromText(text)).toThrow(new ScalarError("Member must be an instant"));
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -8.64e12 - 1, 8.64e12 + 1])("%d seconds are refused", (seconds) => {
    expect(() => instantFromSeconds(seconds)).toThrow(new ScalarError("Member must be an instant"));
  });
});

const { field: reader } = CreateReaderRequestSchema;

test.each([
  // what the field is, the field, value, whether it counts as unset
  ["a text", reader.readerName, "", true],
  ["a text", reader.readerName, "emma", false],
  ["bytes", reader.picture, new Uint8Array(), true],
  ["bytes", reader.picture, new Uint8Array(1), false],
  ["an enumeration", reader.kind, 0, true],
  ["an enumeration", reader.kind, 1, false],
  ["an optional text", reader.secret, "", false],
  ["an optional text", reader.secret, undefined, true],
  ["an optional number", reader.visits, 0n, false],
  ["optional bytes", RecordsEventSchema.field.payload, new Uint8Array(), false],
  ["one of several", SelectEventSchema.field.records, {}, false],
  ["a list", reader.languages, [], false],
])("the value of %s is set or not: %#", (_what, field, value, unset) => {
  expect(isUnset(field, value)).toBe(unset);
});
