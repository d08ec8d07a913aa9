import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { ReplicationConfigurationSchema } from "../../../gen/quartet/objectstorage/v1/replication_pb.ts";
import { readReplication } from "../../../services/object-storage/domain/replication.ts";

const rule = (id: string, destination: string, priority: number, filter: object, further: object = {}) => ({
  id,
  status: "Enabled",
  priority,
  filter,
  deleteMarkerReplication: { status: "Disabled" },
  destination: { bucket: `arn:aws:s3:::${destination}` },
  ...further,
});

const read = (rules: object[]) =>
  readReplication(create(ReplicationConfigurationSchema, { role: "arn:aws:iam::111111111111:role/copies", rules }));

const version = { key: "logs/a", tags: [], isDeleteMarker: false, isUnderManagedKey: false };
const kind = { key: "kind", value: "log" };
const markers = { deleteMarkerReplication: { status: "Enabled" } };

describe("the rules that copy a version", () => {
  const rules = read([
    rule("all", "one", 1, {}, markers),
    rule("logs", "one", 2, { prefix: "logs/" }),
    rule("tagged", "one", 3, { tag: kind }),
    rule("off", "one", 9, {}, { status: "Disabled" }),
    rule("other", "two", 1, { prefix: "logs/" }, markers),
  ]);

  test.each([
    // version, the rules by their destinations
    [{}, { one: "logs", two: "other" }],
    [{ tags: [kind] }, { one: "tagged", two: "other" }],
    [{ key: "images/a" }, { one: "all" }],
    // The rule with the greatest priority decides alone, also where it does not copy markers.
    [{ isDeleteMarker: true }, { two: "other" }],
    [{ isDeleteMarker: true, key: "images/a" }, { one: "all" }],
    [{ isUnderManagedKey: true }, {}],
  ])("of %j are %j", (members, expected) => {
    const chosen = [...rules.rulesFor({ ...version, ...members })].map(([name, { id }]) => [name, id]);
    expect(Object.fromEntries(chosen)).toEqual(expected);
  });

  test("are found without a look at the version's tags for each of a thousand", () => {
    const many = read(
      Array.from({ length: 1000 }, (_none, number) =>
        rule(`${number}`, "one", number, { and: { tags: [kind, { key: "number", value: `${number}` }] } }),
      ),
    );
    let reads = 0;
    const counted = {
      get key() {
        reads += 1;
        return kind.key;
      },
      value: kind.value,
    };
    expect(many.rulesFor({ ...version, tags: [counted] }).size).toBe(0);
    expect(reads).toBe(1);
  });
});
