import type { DescField, DescMessage, DescMethodUnary, Message } from "@bufbuild/protobuf";
import { create, fromBinary, ScalarType, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import {
  ListObjectsV2ResponseSchema,
  ObjectStorageService,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import { answeredMethod } from "../../../gateway/bindings/encoded-lists.ts";
import { writeMembers } from "../../../gateway/codecs/rest-xml.ts";
import { encodedContentWriter } from "../../../gateway/codecs/xml-items.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import { svcDialect } from "../../../gateway/dialects/svc.ts";
import { methodContract } from "../../../services/kit/contract/contract.ts";
import type { SeededRandom } from "../../kit/store/seeded-random.ts";
import { seededRandom } from "../../kit/store/seeded-random.ts";
import { rounds } from "../../support/rounds.ts";

const texts = [
  "",
  "cat.jpg",
  '"781e5e24"',
  "a&b<c>\r\n\t",
  "é \u{1f600}",
  "\u0000\u0001\u007f\uffff",
  "x".repeat(20_000),
];
const numbers = [0n, 1n, 999n, 2n ** 31n - 1n, 2n ** 40n, 2n ** 53n, 2n ** 63n - 1n, -1n];

const dialects = [amzDialect, svcDialect("svc")];

/** A message with any members, each with any value. */
const anyMessage = (random: SeededRandom, desc: DescMessage, depth = 0): Message => {
  const message = create(desc) as Message & Record<string, unknown>;
  for (const field of desc.fields) {
    if (!random.chance(0.7) || field.oneof !== undefined || field.fieldKind === "map") continue;
    if (field.fieldKind === "list")
      message[field.localName] = Array.from({ length: random.below(3) }, () => anyValue(random, field, depth));
    else message[field.localName] = anyValue(random, field, depth);
  }
  return message;
};

const anyValue = (random: SeededRandom, field: DescField, depth: number): unknown => {
  if (field.message !== undefined)
    return depth < 3 ? anyMessage(random, field.message, depth + 1) : create(field.message);
  if (field.enum !== undefined) return random.pick(field.enum.values).number;
  const number = random.pick(numbers);
  switch (field.scalar) {
    case ScalarType.STRING:
      return random.pick(texts);
    case ScalarType.BOOL:
      return random.chance(0.5);
    case ScalarType.BYTES:
      return Buffer.from("bytes");
    case ScalarType.INT64:
      return field.localName === "seconds" && !random.chance(0.1) ? 1_767_323_045n + (number % 100n) : number;
    case ScalarType.UINT64:
      return number < 0n ? 7n : number;
    case ScalarType.UINT32:
      return random.below(6);
    default:
      return Number(BigInt.asIntN(32, number));
  }
};

/** The document as the client gets it, of messages and of encoded items. */
const documents = (method: DescMethodUnary, bytes: Uint8Array, dialect = amzDialect) => {
  const spelling = spellingOf(dialect);
  const answered = answeredMethod(methodContract(method), Protocol.REST_XML);
  const write = (desc: DescMessage) => () =>
    writeMembers(fromBinary(desc, bytes), method.output, spelling)?.body.toString();
  return [textOf(write(method.output)), textOf(write(answered.output))];
};

const textOf = (write: () => string | undefined): string | undefined => {
  try {
    return write();
  } catch (error) {
    return error instanceof RangeError ? "refused" : String(error);
  }
};

const listing = ObjectStorageService.methods.filter(
  (method): method is typeof method & DescMethodUnary =>
    method.methodKind === "unary" && answeredMethod(methodContract(method), Protocol.REST_XML).output !== method.output,
);

test("the answers of listings and of batches have encoded lists", () => {
  expect(listing.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["ListObjects", "ListObjectsV2", "ListObjectVersions", "ListParts", "DeleteObjects"]),
  );
});

describe("encoded items become the same document as their messages", () => {
  test.each(listing.map((method) => [method.name, method] as const))("in answers of %s", (_name, method) => {
    const random = seededRandom(method.name.length);
    for (let round = 0; round < rounds(200, 20_000); round += 1) {
      const bytes = toBinary(method.output, anyMessage(random, method.output));
      const [expected, written] = documents(method, bytes, random.pick(dialects));
      expect(written).toBe(expected);
    }
  });

  test.each([
    ["at their positions", [0, 2, 3], "m1 v1 m2 m3 v2"],
    ["last, where they have none", [], "v1 v2 m1 m2 m3"],
    ["last, where there is no such position", [9, 9, 9], "v1 v2 m1 m2 m3"],
    ["last, after one whose position is not above that before", [1, 0, 4], "v1 m1 v2 m2 m3"],
  ])("of two lists as one, those of the second %s", (_name, deleteMarkerPositions, order) => {
    const method = ObjectStorageService.method.listObjectVersions;
    const versions = [{ key: "v1" }, { key: "v2" }];
    const deleteMarkers = [{ key: "m1" }, { key: "m2" }, { key: "m3" }];
    const answer = create(method.output, { versions, deleteMarkers, deleteMarkerPositions });
    for (const document of documents(method, toBinary(method.output, answer)))
      expect(document?.match(/(?<=<(?:Version|DeleteMarker)><Key>)[^<]+/g)?.join(" ")).toBe(order);
  });

  test("when they have members that are not known, repeated or in another order", () => {
    const { contents } = ListObjectsV2ResponseSchema.field;
    const item = (...bytes: number[]) => [(contents.number << 3) | 2, bytes.length, ...bytes];
    const bytes = Uint8Array.from([
      ...item(0x0a, 1, 0x61, 0x98, 0x06, 1),
      ...item(0x30, 3, 0x0a, 1, 0x62),
      ...item(0x0a, 1, 0x63, 0x0a, 1, 0x64),
      ...item(0x22, 1, 0x65, 0x22, 1, 0x66),
      ...item(),
    ]);
    const [expected, written] = documents(ObjectStorageService.method.listObjectsV2, bytes);
    expect(written).toBe(expected);
    expect(written).toContain(
      [
        "<Contents><Key>a</Key></Contents><Contents><Key>b</Key><Size>3</Size></Contents>",
        "<Contents><Key>d</Key></Contents>",
        "<Contents><ChecksumAlgorithm>e</ChecksumAlgorithm><ChecksumAlgorithm>f</ChecksumAlgorithm></Contents>",
        "<Contents/>",
      ].join(""),
    );
  });

  test("and are refused when they are damaged", () => {
    const damaged = Uint8Array.of(0x12, 2, 0x0a, 9);
    expect(() => documents(ObjectStorageService.method.listObjectsV2, damaged)).not.toThrow();
    const [expected, written] = documents(ObjectStorageService.method.listObjectsV2, damaged);
    expect(written).toBe(expected);
  });
});

test.each(["ListObjects", "ListObjectsV2", "ListObjectVersions", "ListParts", "ListMultipartUploads"])(
  "no messages are made of the items of %s",
  (name) => {
    const { output } = ObjectStorageService.methods.find((method) => method.name === name)!;
    const items = output.fields.flatMap(({ fieldKind, message }) => (fieldKind === "list" && message) || []);
    expect(items.map((item) => typeof encodedContentWriter(item, spellingOf(amzDialect)))).toEqual(
      items.map(() => "function"),
    );
  },
);
