import { createHash } from "node:crypto";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import type {
  SelectObjectContentRequest,
  SelectObjectContentRequestSchema,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, put, refusalOf, startWithBucket } from "../harness.ts";

type SelectInit = Exclude<MessageInitShape<typeof SelectObjectContentRequestSchema>, SelectObjectContentRequest>;

const query: SelectInit = {
  bucket: "photos",
  key: "people.csv",
  expression: "SELECT name FROM S3Object WHERE id > 1",
  expressionType: "SQL",
  inputSerialization: { csv: { fileHeaderInfo: "USE" } },
  outputSerialization: { csv: {} },
};
const people = "id,name\n1,Ann\n2,Bob\n3,Cid\n";

/** The events of a query, each as a text, but for those that only say that it goes on, which come on a busy machine. */
const eventsOf = async (harness: Harness, members: SelectInit, options = as(alice)): Promise<string[]> => {
  const events: string[] = [];
  for await (const { event } of harness.client.selectObjectContent({ ...query, ...members }, options)) {
    const { case: kind, value } = event!.event;
    if (kind === "cont") continue;
    const details =
      kind === "records"
        ? Buffer.from(value.payload!).toString("utf8")
        : kind === "stats" || kind === "progress"
          ? `${value.details?.bytesScanned} ${value.details?.bytesProcessed} ${value.details?.bytesReturned}`
          : "";
    events.push(`${kind} ${details}`.trim());
  }
  return events;
};

const ownKey = Buffer.alloc(32, 7);
const underOwnKey = {
  sseCustomerAlgorithm: "AES256",
  sseCustomerKey: ownKey.toString("base64"),
  sseCustomerKeyMd5: createHash("md5").update(ownKey).digest("base64"),
};

describe("a query of an object", () => {
  test("returns the records, the figures and the end", async () => {
    const harness = await startWithBucket();
    await put(harness, { bucket: "photos", key: "people.csv" }, people);
    expect(await eventsOf(harness, {})).toEqual(["records Bob\nCid", "stats 26 26 8", "end"]);
    expect(await eventsOf(harness, { requestProgress: { enabled: true }, scanRange: { start: 20n } })).toEqual([
      "records Cid",
      "progress 33 6 4",
      "stats 33 6 4",
      "end",
    ]);
    expect(await eventsOf(harness, { expression: "SELECT * FROM S3Object LIMIT 0" })).toEqual(["stats 26 26 0", "end"]);
  });

  test("reads content under a key of the caller, and only with it", async () => {
    const harness = await startWithBucket();
    await put(harness, { bucket: "photos", key: "people.csv", ...underOwnKey }, people);
    expect(await eventsOf(harness, underOwnKey)).toEqual(["records Bob\nCid", "stats 26 26 8", "end"]);
    expect(await refusalOf(eventsOf(harness, {}))).toMatch(/^INVALID_REQUEST: /);
  });

  test("reads large objects in pieces, of which a slow reader gets no more than it takes", async () => {
    const harness = await startWithBucket();
    const line = `${"x".repeat(99)}\n`;
    await put(harness, { bucket: "photos", key: "large" }, line.repeat(120_000));
    const members = { ...query, key: "large", expression: "SELECT * FROM S3Object", inputSerialization: { csv: {} } };
    const answers = harness.client.selectObjectContent(members, as(alice))[Symbol.asyncIterator]();
    let [bytes, last] = [0, ""];
    for (let next = await answers.next(); next.done !== true; next = await answers.next()) {
      const { event } = next.value.event!;
      last = event.case ?? "";
      if (event.case === "records") bytes += event.value.payload!.length;
    }
    expect([bytes, last]).toEqual([12_000_000, "end"]);
  });

  test("that is given up leaves its place to the next ones", async () => {
    const harness = await startWithBucket();
    await put(harness, { bucket: "photos", key: "large" }, "x,y\n".repeat(2_000_000));
    await put(harness, { bucket: "photos", key: "people.csv" }, people);
    for (let round = 0; round < 4; round++) {
      const members = {
        ...query,
        key: "large",
        expression: "SELECT _1, _2 FROM S3Object",
        inputSerialization: { csv: {} },
      };
      const controller = new AbortController();
      const options = { ...as(alice), signal: controller.signal };
      const answers = harness.client.selectObjectContent(members, options)[Symbol.asyncIterator]();
      await answers.next();
      controller.abort();
      await expect(answers.next()).rejects.toThrow(/abort|cancel/i);
    }
    expect(await eventsOf(harness, {})).toEqual(["records Bob\nCid", "stats 26 26 8", "end"]);
  });

  test("fails in the middle where the object is malformed", async () => {
    const harness = await startWithBucket();
    await put(harness, { bucket: "photos", key: "people.csv" }, `${"1,Ann\n".repeat(100_000)}"x"y\n`);
    const members = { ...query, expression: "SELECT * FROM S3Object", inputSerialization: { csv: {} } };
    const answers = harness.client.selectObjectContent(members, as(alice))[Symbol.asyncIterator]();
    const first = await answers.next();
    expect(first.done === true ? "" : first.value.event?.event.case).toBe("records");
    const rest = async () => {
      for (let next = await answers.next(); next.done !== true; next = await answers.next());
    };
    expect(await refusalOf(rest())).toBe("CSV_UNESCAPED_QUOTE");
  });
});

test.each([
  // members, how the object was put, who calls, reason; in the order of refusal
  [{ bucket: "unknown" }, {}, alice, "NO_SUCH_BUCKET"],
  [{}, {}, bob, "ACCESS_DENIED"],
  [{ expressionType: "XPATH" }, {}, alice, "INVALID_EXPRESSION_TYPE"],
  [{ sseCustomerKey: "x" }, {}, alice, "INVALID_ARGUMENT"],
  [{ key: "none" }, {}, alice, "NO_SUCH_KEY"],
  [{}, { storageClass: "GLACIER", ...underOwnKey }, alice, "INVALID_REQUEST"],
  [{ scanRange: { start: 99n } }, { storageClass: "GLACIER" }, alice, "INVALID_OBJECT_STATE"],
  [{ scanRange: { start: 99n }, expression: "?" }, {}, alice, "INVALID_SCAN_RANGE"],
  [{ expression: "?" }, {}, alice, "LEXER_INVALID_CHAR"],
  [{ expression: "SELECT age FROM S3Object" }, {}, alice, "MISSING_HEADERS"],
])("a query with %o of an object put with %o by %s is refused with %s", async (members, head, caller, reason) => {
  const harness = await startWithBucket();
  await put(harness, { bucket: "photos", key: "people.csv", ...head }, people);
  expect(await refusalOf(eventsOf(harness, members, as(caller)))).toMatch(new RegExp(`^${reason}`));
});
