import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { flows, integrations } from "../../../../services/customer-profile/store/layout.ts";
import { as } from "../../../object-storage/harness.ts";
import { startHttpReceiver } from "../../../support/http-receiver.ts";
import { ownerAccount } from "../../harness.ts";
import { flowOf, startImports } from "./imports.ts";

const minuteMs = 60_000;
const scheduled = (scheduleExpression: string, dataPullMode = "Incremental", changes: object = {}) => ({
  triggerConfig: {
    triggerType: "Scheduled",
    triggerProperties: { scheduled: { scheduleExpression, dataPullMode, ...changes } },
  },
});
const counts = (objects: number, ingestedRecords: number, changes: object = {}) => ({
  objects,
  failedObjects: 0,
  ingestedRecords,
  leftOutRecords: 0,
  failedRecords: 0,
  ...changes,
});

describe("a flow on demand", () => {
  test("reads all objects once, and again when it is put again", async () => {
    const { put, putFlow, pass, flows: page, mailsOf } = await startImports();
    await put("a.csv", "id,mail,name\n1,a@x.org,Ana\n2,b@x.org,Bo\n");
    await put("b.jsonl", '{"id":3,"mail":"c@x.org"}\n');
    await putFlow();
    expect(await mailsOf("1", "2", "3")).toEqual(["a@x.org", "b@x.org", "c@x.org"]);
    expect(await page()).toMatchObject([{ uri: "inbox", domain: "shop", state: "OVER", last: counts(2, 3) }]);

    await put("b.jsonl", '{"id":3,"mail":"d@x.org"}\n');
    await pass(24 * 60 * minuteMs);
    expect(await mailsOf("3")).toEqual(["c@x.org"]);
    await putFlow();
    expect(await mailsOf("1", "2", "3")).toEqual(["a@x.org", "b@x.org", "d@x.org"]);
  });

  test("reads what begins with its prefix, in all formats", async () => {
    const { put, putFlow, flows: page, mailsOf } = await startImports();
    await put("in/a.json", '[{"id":1,"mail":"a@x.org"},\n {"id":2,"mail":"b@x.org"}]');
    await put("in/b", '{"id":3,"mail":"c@x.org"}', "application/json");
    await put("in/c.csv.gz", gzipSync("id,mail\r\n4,d@x.org\r\n"));
    await put("in/", "");
    await put("out.csv", "id,mail\n5,e@x.org\n");
    const s3 = { bucketName: "inbox", bucketPrefix: "in/" };
    await putFlow({ sourceFlowConfig: { connectorType: "S3", sourceConnectorProperties: { s3 } } });
    expect(await mailsOf("1", "2", "3", "4", "5")).toEqual(["a@x.org", "b@x.org", "c@x.org", "d@x.org"]);
    expect(await page()).toMatchObject([{ last: counts(3, 4) }]);
  });

  test.each([
    [
      "separated values",
      "a.csv.gz",
      (ids: readonly number[]) => `id,mail\n${ids.map((id) => `${id},m${id}@x.org`).join("\n")}`,
    ],
    [
      "lines of JSON",
      "a.jsonl.gz",
      (ids: readonly number[]) => ids.map((id) => `{"id":${id},"mail":"m${id}@x.org"}`).join("\n"),
    ],
    [
      "a JSON array",
      "a.json.gz",
      (ids: readonly number[]) => `[${ids.map((id) => `{"id":${id},"mail":"m${id}@x.org"}`).join(" ,")}]`,
    ],
  ])("reads compressed %s in slices, between which other flows have their turns", async (_what, key, bodyOf) => {
    let passedMs = 0;
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + passedMs);
    onTestFinished(() => clock.mockRestore());
    // Each batch of 50 records takes 2 s of the 5 that a slice has.
    const isDiskLow = () => {
      passedMs += 2_000;
      return false;
    };
    const { put, putFlow, flows: page, app, client } = await startImports({ isDiskLow });
    await put(key, gzipSync(bodyOf(Array.from({ length: 500 }, (_each, index) => index))));
    const before = app.jobs.stats().done;
    await putFlow();
    expect(app.jobs.stats().done - before).toBe(4);
    expect(await page()).toMatchObject([{ state: "OVER", last: counts(1, 500) }]);
    expect((await client.getDomain({ domainName: "shop" })).stats).toMatchObject({
      profileCount: 500n,
      objectCount: 500n,
    });
  });

  test("leaves objects that it cannot read, and says why", async () => {
    const { put, putFlow, flows: page, mailsOf } = await startImports();
    await put("a.parquet", "PAR1");
    await put("b.csv.gz", "no gzip");
    await put("c.json", '[{"id":1,"mail":"a@x.org"}');
    await put("d", "id,mail\n2,b@x.org");
    await put("e.csv", "id,mail\n3,c@x.org");
    await putFlow();
    expect(await mailsOf("1", "2", "3")).toEqual(["a@x.org", "c@x.org"]);
    const firstProblem = "a.parquet: flows read CSV and JSON, not Parquet";
    expect(await page()).toMatchObject([{ last: counts(1, 2, { failedObjects: 4, firstProblem }) }]);
  });

  test("leaves objects that only their owner can decrypt", async () => {
    const { put, putFlow, flows: page, mailsOf, storage } = await startImports();
    const key = Buffer.alloc(32, 7);
    const encryption = {
      sseCustomerAlgorithm: "AES256",
      sseCustomerKey: key.toString("base64"),
      sseCustomerKeyMd5: createHash("md5").update(key).digest("base64"),
    };
    const body = Buffer.from("id,mail\n1,a@x.org");
    async function* messages() {
      yield await Promise.resolve({ bucket: "inbox", key: "a.csv", contentLength: BigInt(body.length), ...encryption });
      yield { body };
    }
    await storage.client.putObject(messages(), as(ownerAccount));
    await put("b.csv", "id,mail\n2,b@x.org");
    await putFlow();
    expect(await mailsOf("1", "2")).toEqual(["b@x.org"]);
    expect(await page()).toMatchObject([{ state: "OVER", last: counts(1, 1, { failedObjects: 1 }) }]);
  });

  test("puts the records of many batches and pages", async () => {
    const { put, putFlow, flows: page, client } = await startImports();
    const lines = Array.from({ length: 1_234 }, (_each, index) => `${index},m${index}@x.org`);
    await put("a.csv", `id,mail\n${lines.join("\n")}`);
    for (let group = 0; group < 1_010; group += 101)
      await Promise.all(Array.from({ length: 101 }, (_each, index) => put(`b/${group + index}`, "")));
    await put("c.csv", "id,mail\n0,changed@x.org\n1,m1@x.org");
    await putFlow();
    expect(await page()).toMatchObject([{ last: counts(2, 1_236) }]);
    expect((await client.getDomain({ domainName: "shop" })).stats?.profileCount).toBe(1_234n);
  });

  test("puts few records among many that it leaves out, and the neighbours of a refused one", async () => {
    const { put, putFlow, flows: page, mailsOf } = await startImports();
    const lines = Array.from({ length: 12_000 }, (_each, index) =>
      index % 3_000 === 7 ? `${index === 6_007 ? "" : index},m${index}@x.org,kept` : `${index},,`,
    );
    await put("a.csv", `id,mail,name\n${lines.join("\n")}`);
    const filter = { taskType: "Filter", sourceFields: ["name"], connectorOperator: { s3: "EQUAL_TO" } };
    await putFlow({ tasks: [{ ...filter, taskProperties: { VALUE: "kept" } }] });
    expect(await mailsOf("7", "3007", "6007", "9007")).toEqual(["m3007@x.org", "m7@x.org", "m9007@x.org"]);
    const last = counts(1, 3, { leftOutRecords: 11_996, failedRecords: 1 });
    expect(await page()).toMatchObject([{ state: "OVER", last }]);
  });

  test("ends where a check says so", async () => {
    const { put, putFlow, flows: page, mailsOf } = await startImports();
    await put("a.csv", "id,mail\n1,a@x.org\n2,\n3,c@x.org");
    const check = { taskType: "Validate", sourceFields: ["mail"], connectorOperator: { s3: "VALIDATE_NON_NULL" } };
    const map = { taskType: "Map", sourceFields: ["id", "mail"] };
    await putFlow({ tasks: [{ ...check, taskProperties: { VALIDATION_ACTION: "TerminateFlow" } }, map] });
    expect(await mailsOf("1", "3")).toEqual(["a@x.org"]);
    const problem = "a.csv: the field mail of a record does not pass VALIDATE_NON_NULL";
    expect(await page()).toMatchObject([{ state: "OVER", last: { problem } }]);

    await putFlow({ tasks: [check, map] });
    expect(await mailsOf("1", "3")).toEqual(["a@x.org", "c@x.org"]);
    expect(await page()).toMatchObject([{ last: counts(1, 2, { leftOutRecords: 1 }) }]);
  });
});

describe("a scheduled flow", () => {
  test("reads what has changed since its last run", async () => {
    const { put, putFlow, pass, flows: page, mailsOf } = await startImports();
    await put("a.csv", "id,mail\n1,a@x.org");
    await putFlow(scheduled("rate(1 hour)"));
    expect(await page()).toMatchObject([
      { state: "SCHEDULED", nextTime: "2026-01-02T04:04:05.000Z", last: counts(1, 1) },
    ]);
    await pass(30 * minuteMs);
    await put("b.csv", "id,mail\n2,b@x.org");
    expect(await mailsOf("2")).toEqual([]);
    await pass(30 * minuteMs);
    expect(await mailsOf("1", "2")).toEqual(["a@x.org", "b@x.org"]);
    expect(await page()).toMatchObject([{ last: counts(1, 1) }]);
    await pass(60 * minuteMs);
    expect(await page()).toMatchObject([{ last: counts(0, 0) }]);
  });

  test("goes on from what it has read when it is put with another schedule, and begins anew with other tasks", async () => {
    const { put, putFlow, flows: page } = await startImports();
    await put("a.csv", "id,mail\n1,a@x.org");
    await putFlow(scheduled("rate(1 hour)"));
    await putFlow(scheduled("rate(2 hours)"));
    expect(await page()).toMatchObject([{ nextTime: "2026-01-02T05:04:05.000Z", last: counts(0, 0) }]);
    await putFlow({ ...scheduled("rate(2 hours)"), tasks: [{ taskType: "Map", sourceFields: ["id"] }] });
    expect(await page()).toMatchObject([{ last: counts(1, 1) }]);
  });

  test("reads everything each time if it is complete", async () => {
    const { put, putFlow, pass, flows: page } = await startImports();
    await put("a.csv", "id,mail\n1,a@x.org");
    await putFlow(scheduled("cron(0 6 * * ? *)", "Complete", { timezone: "Europe/Berlin" }));
    expect(await page()).toMatchObject([{ state: "SCHEDULED", nextTime: "2026-01-02T05:00:00.000Z" }]);
    await pass(24 * 60 * minuteMs);
    expect(await page()).toMatchObject([{ last: counts(1, 1) }]);
    await pass(24 * 60 * minuteMs);
    expect(await page()).toMatchObject([{ nextTime: "2026-01-04T05:00:00.000Z", last: counts(1, 1) }]);
  });

  test("begins with the instant that it names, and ends with its schedule", async () => {
    const { clock, put, putFlow, pass, flows: page, mailsOf } = await startImports();
    await put("old.csv", "id,mail\n1,a@x.org");
    await pass(10 * minuteMs);
    const firstExecutionFrom = timestampFromMs(clock.now());
    await put("new.csv", "id,mail\n2,b@x.org");
    const scheduleEndTime = timestampFromMs(clock.now() + 90 * minuteMs);
    await putFlow(scheduled("rate(1 hour)", "Incremental", { firstExecutionFrom, scheduleEndTime }));
    expect(await mailsOf("1", "2")).toEqual(["b@x.org"]);
    await pass(60 * minuteMs);
    expect(await page()).toMatchObject([{ state: "OVER", last: counts(0, 0) }]);
  });
});

test("a flow for events reads new and changed objects within a minute, and each once", async () => {
  const { put, putFlow, pass, flows: page, mailsOf } = await startImports();
  await put("old.csv", "id,mail\n1,a@x.org");
  await pass(1);
  await putFlow({ triggerConfig: { triggerType: "Event" } });
  expect(await mailsOf("1")).toEqual([]);
  await pass(30_000);
  await put("new.csv", "id,mail\n2,b@x.org");
  await pass(30_000);
  expect(await mailsOf("1", "2")).toEqual(["b@x.org"]);
  expect(await page()).toMatchObject([{ state: "SCHEDULED", last: counts(1, 1) }]);
  await pass(minuteMs);
  expect(await page()).toMatchObject([{ last: counts(0, 0) }]);
  await put("new.csv", "id,mail\n2,c@x.org");
  await pass(minuteMs);
  expect(await mailsOf("2")).toEqual(["c@x.org"]);
});

test("records that are refused go to the dead letter queue, and the others are put", async () => {
  const queue = await startHttpReceiver(() => ({ status: 200 }));
  onTestFinished(() => queue.close());
  const queueEndpoint = { url: queue.url, region: "us-east-1", accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" };
  const { client, put, putFlow, flows: page, mailsOf } = await startImports({ queueEndpoint });
  await client.putProfileObjectType({
    domainName: "shop",
    objectTypeName: "person",
    description: "People",
    allowProfileCreation: true,
    fields: {
      id: { source: "_source.id" },
      mail: { source: "_source.mail", target: "_profile.EmailAddress" },
      name: { source: "_source.name", target: "_profile.LastName" },
    },
    keys: { id: { items: [{ fieldNames: ["id"], standardIdentifiers: ["UNIQUE", "PROFILE"] }] } },
    maxProfileObjectCount: 1,
  });
  await put("a.jsonl", '{"id":1,"mail":"a@x.org"}\nno JSON\n{"mail":"no id"}\n{"id":2,"mail":"b@x.org"}');
  await putFlow();
  expect(await mailsOf("1", "2")).toEqual(["a@x.org", "b@x.org"]);
  const firstProblem = "The object is not valid: a field of its unique key is missing";
  expect(await page()).toMatchObject([{ last: { ingestedRecords: 2, failedRecords: 2 } }]);
  const letters = queue.received.map(({ body }) => {
    const { MessageBody } = JSON.parse(body.toString()) as { readonly MessageBody: string };
    return JSON.parse(MessageBody) as Readonly<Record<string, unknown>>;
  });
  expect(letters.toSorted((a, b) => String(a["ErrorCode"]).localeCompare(String(b["ErrorCode"])))).toMatchObject([
    {
      ErrorCode: "OBJECT_INVALID",
      ErrorMessage: firstProblem,
      Object: '{"mail":"no id"}',
      ProfileObjectUniqueKey: null,
    },
    {
      ErrorCode: "RECORD_INVALID",
      ErrorMessage: "A record of a.jsonl cannot be processed: it is no JSON object in UTF-8",
      Object: "no JSON",
      ProfileObjectUniqueKey: null,
    },
  ]);
});

describe("a flow that cannot go on", () => {
  test("says why, is tried again with pauses, and then reads all", async () => {
    const { storage, put, putFlow, pass, flows: page, mailsOf } = await startImports();
    await storage.client.deleteBucket({ bucket: "inbox" }, as(ownerAccount));
    await putFlow();
    const problem = "the bucket inbox cannot be read: NO_SUCH_BUCKET: The specified bucket does not exist";
    expect(await page()).toMatchObject([{ state: "STUCK", problem }]);
    await storage.client.createBucket({ bucket: "inbox" }, as(ownerAccount));
    await put("a.csv", "id,mail\n1,a@x.org");
    await pass(2_000);
    expect(await mailsOf("1")).toEqual(["a@x.org"]);
    expect(await page()).toMatchObject([{ state: "OVER", last: counts(1, 1) }]);
  });

  test("is given up after a day, and runs again when its schedule says so", async () => {
    const { storage, putFlow, pass, flows: page } = await startImports();
    await storage.client.deleteBucket({ bucket: "inbox" }, as(ownerAccount));
    await putFlow(scheduled("cron(0 3 * * ? *)"));
    await pass(24 * 60 * minuteMs);
    expect(await page()).toMatchObject([{ state: "STUCK" }]);
    await pass(25 * 60 * minuteMs);
    expect(await page()).toMatchObject([
      { state: "SCHEDULED", last: { problem: expect.stringContaining("NO_SUCH_BUCKET") } },
    ]);
  });

  test("does not read another account's bucket", async () => {
    const { storage, putFlow, flows: page } = await startImports();
    await storage.client.createBucket({ bucket: "bobs" }, as("222222222222"));
    const s3 = { bucketName: "bobs" };
    await putFlow({ sourceFlowConfig: { connectorType: "S3", sourceConnectorProperties: { s3 } } });
    expect(await page()).toMatchObject([{ state: "STUCK", problem: expect.stringContaining("ACCESS_DENIED") }]);
  });

  test("stores nothing while the disk is low", async () => {
    let isLow = true;
    const { put, putFlow, pass, flows: page, mailsOf } = await startImports({ isDiskLow: () => isLow });
    await put("a.csv", "id,mail\n1,a@x.org");
    await putFlow();
    expect(await mailsOf("1")).toEqual([]);
    isLow = false;
    await pass(2_000);
    expect(await mailsOf("1")).toEqual(["a@x.org"]);
    expect(await page()).toMatchObject([{ last: counts(1, 1) }]);
  });
});

describe("a flow ends, and leaves nothing,", () => {
  const leftOf = async ({ store, app }: Awaited<ReturnType<typeof startImports>>) => ({
    flows: await store.read((reader) => reader.list(flows, { limit: 2 })),
    jobs: app.jobs.stats(),
  });

  test.each<[string, (imports: Awaited<ReturnType<typeof startImports>>) => Promise<unknown>]>([
    ["with its integration", ({ client }) => client.deleteIntegration({ domainName: "shop", uri: "inbox" })],
    ["with its domain", ({ client }) => client.deleteDomain({ domainName: "shop" })],
    [
      "when its integration has none any more",
      ({ client }) => client.putIntegration({ domainName: "shop", uri: "inbox", objectTypeName: "person" }),
    ],
  ])("%s", async (_what, end) => {
    const imports = await startImports();
    await imports.putFlow(scheduled("rate(1 hour)"));
    await end(imports);
    await imports.app.jobs.idle();
    expect((await leftOf(imports)).flows).toEqual([]);
    await imports.put("a.csv", "id,mail\n1,a@x.org");
    await imports.pass(120 * minuteMs);
    expect((await leftOf(imports)).flows).toEqual([]);
  });

  test("and does nothing once its object type is deleted", async () => {
    const { client, store, put, putFlow, pass, flows: page } = await startImports();
    await putFlow(scheduled("rate(1 hour)"));
    await client.deleteProfileObjectType({ domainName: "shop", objectTypeName: "person" });
    await put("a.csv", "id,mail\n1,a@x.org");
    await pass(120 * minuteMs);
    expect(await page()).toMatchObject([{ last: counts(0, 0) }]);
    const [integration] = await store.read((reader) => reader.list(integrations, { limit: 1 }));
    expect(integration?.value.isDisabled).toBe(true);
  });
});

test("flows of other connectors are stored and not carried out", async () => {
  const { putFlow, flows: page } = await startImports();
  await putFlow({
    sourceFlowConfig: { connectorType: "Zendesk", sourceConnectorProperties: { zendesk: { object: "users" } } },
  });
  expect(await page()).toEqual([]);
  expect(flowOf().flowName).toBe("people");
});
