import { StringValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";

import { byteStringOf } from "../../../services/kit/store/byte-string.ts";
import { StoreKeyError } from "../../../services/kit/store/errors.ts";
import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import {
  assertDistinct,
  bytes,
  decodeKey,
  defineTable,
  encodeKey,
  encodeKeyPrefix,
  integer,
  keyBytes,
  pretty,
  reversed,
  text,
} from "../../../services/kit/store/table.ts";
import { rounds } from "../../support/rounds.ts";
import { seededRandom } from "./seeded-random.ts";

const names = defineTable({ number: 1, name: "names", key: [text("name")], value: StringValueSchema });
const pairs = defineTable({ number: 2, name: "pairs", key: [text("left"), text("right")], value: StringValueSchema });
const counts = defineTable({ number: 3, name: "counts", key: [integer("count")], value: StringValueSchema });
const latest = defineTable({ number: 4, name: "latest", key: [reversed("sequence")], value: StringValueSchema });
const hashes = defineTable({ number: 5, name: "hashes", key: [bytes("hash")], value: StringValueSchema });
const versions = defineTable({
  number: 0x0102,
  name: "versions",
  key: [text("bucket"), text("key"), reversed("sequence")],
  value: StringValueSchema,
});
const single = defineTable({ number: 7, name: "single", key: [], value: StringValueSchema });

const hex = (encoded: Uint8Array): string => Buffer.from(encoded).toString("hex");
const raw = (digits: string): Uint8Array => new Uint8Array(Buffer.from(digits, "hex"));
// Built from its number, because a lone surrogate in a source file does not survive every editor.
const loneSurrogate = String.fromCharCode(0xd800);

describe("the bytes of a key", () => {
  it.each([
    // key, bytes
    [hex(keyBytes(names, [""])), "0001 00"],
    [hex(keyBytes(names, ["a"])), "0001 6100"],
    [hex(keyBytes(names, ["a\u0000b"])), "0001 6101016200"],
    [hex(keyBytes(names, ["a\u0001b"])), "0001 6101026200"],
    [hex(keyBytes(names, ["\u0000"])), "0001 010100"],
    [hex(keyBytes(names, ["é"])), "0001 c3a900"],
    [hex(keyBytes(names, ["é\u0000é"])), "0001 c3a90101c3a900"],
    [hex(keyBytes(names, ["\u{1f600}"])), "0001 f09f988000"],
    [hex(keyBytes(names, ["\uffff"])), "0001 efbfbf00"],
    [hex(keyBytes(pairs, ["a", "b"])), "0002 6100 6200"],
    [hex(keyBytes(counts, [0])), "0003 0000000000000000"],
    [hex(keyBytes(counts, [1])), "0003 0000000000000001"],
    [hex(keyBytes(counts, [0x89abcdef])), "0003 0000000089abcdef"],
    [hex(keyBytes(counts, [1_767_323_045_000])), "0003 0000019b7ca98c88"],
    [hex(keyBytes(counts, [Number.MAX_SAFE_INTEGER])), "0003 001fffffffffffff"],
    [hex(keyBytes(latest, [0])), "0004 ffffffffffffffff"],
    [hex(keyBytes(latest, [1])), "0004 fffffffffffffffe"],
    [hex(keyBytes(latest, [Number.MAX_SAFE_INTEGER])), "0004 ffe0000000000000"],
    [hex(keyBytes(hashes, [raw("")])), "0005 00"],
    [hex(keyBytes(hashes, [raw("000102ff")])), "0005 01010102 02ff00"],
    [hex(keyBytes(versions, ["photos", "cat.jpg", 7])), "0102 70686f746f7300 6361742e6a706700 fffffffffffffff8"],
    [hex(keyBytes(single, [])), "0007"],
  ])("%s is %s", (encoded, expected) => {
    expect(encoded).toBe(expected.replaceAll(" ", ""));
  });

  it("is shown to people with its table and parts", () => {
    expect(pretty(versions, ["photos", 'a"b', 7])).toBe('versions/"photos"/"a\\"b"/7');
    expect(pretty(hashes, [raw("00ff")])).toBe("hashes/0x00ff");
  });
});

describe("the order of keys", () => {
  it.each([
    // why, table, keys
    [
      "that of code points for text, not of UTF-16 units",
      names,
      [["\ue000"], ["\uffff"], ["\u{10000}"], ["\u{1f600}"]],
    ],
    [
      "a text before its extensions, whatever they begin with",
      names,
      [[""], ["\u0000"], ["\u0000\u0000"], ["\u0001"], ["a"], ["a\u0000"], ["a\u0000b"], ["a\u0001"], ["aa"], ["é"]],
    ],
    [
      "that of an earlier part before that of a later one",
      pairs,
      [
        ["", "z"],
        ["a", ""],
        ["a", "a"],
        ["a", "é"],
        ["a\u0000", ""],
        ["a\u0001", ""],
        ["ab", ""],
        ["b", ""],
      ],
    ],
    [
      "a text before its extensions, although a reversed number with high bytes follows",
      versions,
      [
        ["b", "k", 5],
        ["b", "k", 0],
        ["b", "k\u0000", 9],
        ["b", "kk", 9],
        ["c", "", 0],
      ],
    ],
    [
      "that of the numbers for integers",
      counts,
      [[0], [1], [255], [256], [0x7fffffff], [0x80000000], [0xffffffff], [0x1_0000_0000], [2 ** 53 - 1]],
    ],
    [
      "the opposite for reversed integers",
      latest,
      [[2 ** 53 - 1], [0x1_0000_0000], [0xffffffff], [0x80000000], [256], [255], [1], [0]],
    ],
    [
      "bytewise for bytes, the shorter first",
      hashes,
      [[raw("")], [raw("00")], [raw("0000")], [raw("01")], [raw("0100")], [raw("02")], [raw("ff")], [raw("ffff")]],
    ],
  ] as [string, Table, KeyTuple[]][])("is %s", (_why, table, keys) => {
    const encoded = keys.map((key) => hex(keyBytes(table, key)));
    expect(encoded).toEqual(encoded.toSorted());
    expect(new Set(encoded).size).toBe(keys.length);
  });

  it("holds for random texts against the order of their UTF-8", () => {
    const random = seededRandom(11);
    const alphabet = ["\u0000", "\u0001", "\u0002", "a", "b", "/", "\u007f", "é", "\uffff", "\u{1f600}"];
    const word = (): string => Array.from({ length: random.below(6) }, () => random.pick(alphabet)).join("");
    for (let round = rounds(2_000, 200_000); round > 0; round -= 1) {
      const left = [word(), word()] as const;
      const right = [word(), word()] as const;
      const byParts =
        Buffer.compare(Buffer.from(left[0]), Buffer.from(right[0])) ||
        Buffer.compare(Buffer.from(left[1]), Buffer.from(right[1]));
      expect(Buffer.compare(keyBytes(pairs, left), keyBytes(pairs, right))).toBe(byParts);
      expect(decodeKey(pairs, encodeKey(pairs, left))).toEqual(left);
    }
  });
});

describe("reading a key back", () => {
  it.each([
    ["empty text", names, [""]],
    ["zero and one bytes", names, ["\u0000\u0001\u0001\u0000"]],
    ["text beyond ASCII", names, ["Zürich \u{1f600} \u0001"]],
    ["integers", counts, [Number.MAX_SAFE_INTEGER]],
    ["reversed integers", latest, [1_767_323_045_000]],
    ["bytes", hashes, [raw("0001020300ff")]],
    ["many parts", versions, ["photos", "a/b", 3]],
    ["no parts", single, []],
  ] as [string, Table, KeyTuple][])("gives the same parts: %s", (_what, table, key) => {
    expect(decodeKey(table, encodeKey(table, key))).toEqual(key);
  });

  it.each([
    ["000161", "key part name has no end"],
    ["00016100ff", "a key of names is longer than its parts"],
    ["0003ffff", "key part count is cut off"],
  ])("refuses bytes that are no key: %s", (digits, message) => {
    const table = digits.startsWith("0003") ? counts : names;
    expect(() => decodeKey<KeyTuple>(table, byteStringOf(raw(digits)))).toThrow(new StoreKeyError(message));
  });
});

describe("what cannot be a key", () => {
  it.each([
    ["a lone surrogate", () => keyBytes(names, [`a${loneSurrogate}`]), "key part name is not well-formed Unicode"],
    ["a negative number", () => keyBytes(counts, [-1]), "key part count must be a whole number from 0 to 2^53-1"],
    ["a fraction", () => keyBytes(counts, [0.5]), "key part count must be a whole number from 0 to 2^53-1"],
    [
      "a number past 2^53-1",
      () => keyBytes(latest, [2 ** 53]),
      "key part sequence must be a whole number from 0 to 2^53-1",
    ],
    ["no number", () => keyBytes(counts, [Number.NaN]), "key part count must be a whole number from 0 to 2^53-1"],
    ["too few parts", () => keyBytes<KeyTuple>(pairs, ["a"]), "a key of pairs has 2 parts, not 1"],
    ["too many parts", () => keyBytes<KeyTuple>(names, ["a", "b"]), "a key of names has 1 parts, not 2"],
    ["a prefix of too many parts", () => encodeKeyPrefix(names, ["a", "b"]), "a key of names has 1 parts, not 2"],
    ["a number for text", () => keyBytes<KeyTuple>(names, [1]), "key part name must be text"],
    ["text for bytes", () => keyBytes<KeyTuple>(hashes, ["a"]), "key part hash must be bytes"],
  ])("is refused: %s", (_what, encode, message) => {
    expect(encode).toThrow(new StoreKeyError(message));
  });
});

describe("declaring tables", () => {
  it.each([0, -1, 0.5, 65_535])("refuses the number %s", (number) => {
    expect(() => defineTable({ number, name: "odd", key: [text("a")], value: StringValueSchema })).toThrow(
      `table odd: a table's number is from 1 to 65534, not ${number}`,
    );
  });

  it("refuses two tables of one number or name in a layout", () => {
    const other = defineTable({ number: 1, name: "others", key: [text("a")], value: StringValueSchema });
    const namesake = defineTable({ number: 9, name: "names", key: [text("a")], value: StringValueSchema });
    expect(() => assertDistinct([names, pairs])).not.toThrow();
    expect(() => assertDistinct([names, pairs, other])).toThrow("tables names and others share 1");
    expect(() => assertDistinct([names, namesake])).toThrow("tables names and names share names");
  });
});
