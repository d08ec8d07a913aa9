import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { create } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test } from "vitest";

import { LogConfigSchema } from "../../../gen/quartet/eventbus/v1/event_bus_pb.ts";
import { BusLogs } from "../../../services/event-bus/delivery/bus-logs.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { Answer } from "../../support/http-receiver.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import type { Harness } from "../harness.ts";
import { startHarness } from "../harness.ts";
import { openShop } from "./shop.ts";

interface LogRecord {
  readonly message_type: string;
  readonly log_level: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** The records of the default bus, from its file. */
const recordsOf = async ({ app, directory }: Pick<Harness, "app" | "directory">): Promise<LogRecord[]> => {
  await app.jobs.idle();
  await app.busLogs.flush();
  const file = "log-groups/000000000000/%2Faws%2Fvendedlogs%2Fevents%2Fevent-bus%2Fdefault/events.log";
  const text = await readFile(join(directory, file), "utf8").catch(() => "");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogRecord);
};

const stepsOf = (records: readonly LogRecord[]): string[] =>
  records.map(({ message_type, log_level }) => `${log_level} ${message_type}`);

/** Puts an event that no rule matches, one that is delivered, and one that is refused for good. */
const workWith = async (harness: Harness): Promise<void> => {
  const { client, app } = harness;
  const shop = await openShop(client, { answer: () => ({ status: shop.till.received.length > 2 ? 404 : 200 }) });
  await client.putEvents({ entries: [{ source: "elsewhere", detailType: "Sale", detail: "{}" }] });
  for (const n of [1, 2, 3]) {
    await shop.sell({ n });
    await app.jobs.idle();
  }
};

const endpointOf = async (answer?: Answer) => {
  const service = await startHttpReceiver(answer);
  onTestFinished(() => service.close());
  return { service, endpoint: { url: service.url, region: "us-east-1", accessKeyId: "", secretAccessKey: "" } };
};

describe("the log of a bus", () => {
  test("at the level ERROR has what failed", async () => {
    const harness = await startHarness();
    await harness.client.updateEventBus({ name: "default", logConfig: { level: "ERROR" } });
    await workWith(harness);
    const records = await recordsOf(harness);
    expect(stepsOf(records)).toEqual(["ERROR INVOCATION_ATTEMPT_PERMANENT_FAILURE", "ERROR INVOCATION_FAILURE"]);
    expect(records[0]).toMatchObject({
      resource_arn: "arn:aws:events:us-east-1:000000000000:event-bus/default",
      message_timestamp_ms: 1_767_323_045_000,
      details: { rule_arn: "arn:aws:events:us-east-1:000000000000:rule/sales", attempt_count: 1 },
      error: { error_code: "ERROR_FROM_TARGET", error_message: "The endpoint answered with status 404." },
    });
  });

  test("at the level INFO has the receipt, the rules and the end of each delivery, without details", async () => {
    const harness = await startHarness();
    await harness.client.updateEventBus({ name: "default", logConfig: { level: "INFO" } });
    await workWith(harness);
    const records = await recordsOf(harness);
    const delivered = ["INFO EVENT_RECEIPT", "INFO RULE_MATCH", "INFO INVOCATION_START", "INFO INVOCATION_SUCCESS"];
    expect(stepsOf(records)).toEqual([
      "INFO EVENT_RECEIPT",
      "INFO NO_STANDARD_RULES_MATCHED",
      ...delivered,
      ...delivered,
      "INFO EVENT_RECEIPT",
      "INFO RULE_MATCH",
      "INFO INVOCATION_START",
      "ERROR INVOCATION_ATTEMPT_PERMANENT_FAILURE",
      "ERROR INVOCATION_FAILURE",
    ]);
    expect(JSON.stringify(records)).not.toContain("event_detail");
  });

  test("at the level TRACE has every step, and with FULL what events contain and targets receive", async () => {
    const harness = await startHarness();
    await harness.client.updateEventBus({ name: "default", logConfig: { level: "TRACE", includeDetail: "FULL" } });
    const shop = await openShop(harness.client);
    await shop.sell({ n: 1 });
    const records = await recordsOf(harness);
    expect(stepsOf(records)).toEqual([
      "INFO EVENT_RECEIPT",
      "TRACE EVENT_INGEST_SUCCESS",
      "TRACE RULE_MATCH_START",
      "INFO RULE_MATCH",
      "INFO INVOCATION_START",
      "TRACE INVOCATION_ATTEMPT_START",
      "TRACE INVOCATION_ATTEMPT_SUCCESS",
      "INFO INVOCATION_SUCCESS",
    ]);
    expect(records[0]?.details).toMatchObject({ source: "shop", detail_type: "Sale", event_detail: '{"n":1}' });
    const received = shop.till.received.map(({ body }) => body.toString());
    expect([records[5]?.details["target_input"]]).toEqual(received);
  });

  test("ends with OFF and with the bus, and goes on after a restart", async () => {
    const first = await startHarness();
    await first.client.createEventBus({ name: "orders", logConfig: { level: "TRACE" } });
    expect(first.app.busLogs.of({ account: "000000000000", name: "orders" })).toBeDefined();
    await first.client.deleteEventBus({ name: "orders" });
    expect(first.app.busLogs.of({ account: "000000000000", name: "orders" })).toBeUndefined();
    await first.client.updateEventBus({ name: "default", logConfig: { level: "INFO" } });
    await first.stop();
    const second = await startHarness({ directory: first.directory, clock: first.clock });
    await second.client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: "{}" }] });
    expect(stepsOf(await recordsOf(second))).toEqual(["INFO EVENT_RECEIPT", "INFO NO_STANDARD_RULES_MATCHED"]);
    await second.client.updateEventBus({ name: "default", logConfig: { level: "OFF" } });
    await second.client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: "{}" }] });
    expect(await recordsOf(second)).toHaveLength(2);
  });

  test("is written to the log groups and delivery streams that the installation names, again until they answer", async () => {
    let isOpen = false;
    const logs = await endpointOf(() => ({ status: isOpen ? 200 : 503 }));
    const firehose = await endpointOf();
    const { client, clock } = await startHarness({
      endpoints: { logs: logs.endpoint, firehose: firehose.endpoint },
      busLogs: [
        "arn:aws:logs:{region}:{account}:log-group:bus-{bus}",
        "arn:aws:firehose:{region}:{account}:deliverystream/bus-logs",
      ],
    });
    await client.updateEventBus({ name: "default", logConfig: { level: "INFO" } });
    await client.putEvents({ entries: [{ source: "shop", detailType: "Sale", detail: "{}" }] });
    clock.advance(500);
    await eventually(() => logs.service.received.length === 1 && firehose.service.received.length === 1, "one try");
    isOpen = true;
    await eventually(() => {
      clock.advance(5_000);
      return logs.service.received.length === 2;
    }, "a second try");
    const put = logs.service.received.map(({ headers, body }) => ({
      target: headers["x-amz-target"],
      body: JSON.parse(body.toString()) as { logGroupName: string; logEvents: { message: string }[] },
    }));
    expect(put.map((each) => [each.target, each.body.logGroupName, each.body.logEvents.length])).toEqual([
      ["Logs_20140328.PutLogEvents", "bus-default", 2],
      ["Logs_20140328.PutLogEvents", "bus-default", 2],
    ]);
    const streamed = JSON.parse(firehose.service.received[0]?.body.toString() ?? "") as {
      DeliveryStreamName: string;
      Records: { Data: string }[];
    };
    expect(streamed.DeliveryStreamName).toBe("bus-logs");
    expect(streamed.Records.map(({ Data }) => Buffer.from(Data, "base64").toString().trimEnd())).toEqual(
      put[0]?.body.logEvents.map(({ message }) => message),
    );
  });
});

test("records wait within one bound for all destinations, and are written in calls of less than a megabyte", async () => {
  const { log, lines } = capturingLogger("error");
  let isOpen = false;
  const written: number[] = [];
  const logs = new BusLogs({
    clock: new FakeClock(),
    log,
    arnScope: { partition: "aws", service: "events", region: "us-east-1" },
    destinations: ["arn:aws:logs:{region}:{account}:log-group:{bus}"],
    writer: {
      write: async (_arn, _account, records) => {
        if (isOpen) written.push(records.length);
        return isOpen;
      },
    },
  });
  for (const name of ["orders", "returns"]) {
    const bus = { account: "000000000000", name };
    logs.configure(
      { afterCommit: (run) => run() },
      bus,
      create(LogConfigSchema, { level: "TRACE", includeDetail: "FULL" }),
    );
    for (const length of [400_000, 400_000, 400_000, ...Array.from({ length: 40 }, () => 1_048_576)])
      logs.add(bus, "EVENT_RECEIPT", () => ({ eventId: "1", details: { event_detail: "x".repeat(length) } }));
  }
  await logs.flush();
  expect(lines.map(({ destination, records }) => `${String(destination)} ${String(records)}`)).toEqual([
    "arn:aws:logs:us-east-1:000000000000:log-group:returns 9",
  ]);
  isOpen = true;
  await logs.flush();
  const ofOne = (count: number): number[] => Array.from({ length: count }, () => 1);
  expect(written).toEqual([2, 2, ...ofOne(41 + 32)]);
});

test("records of one destination leave room for those of others, which are written in turns with them", async () => {
  const written: string[] = [];
  const logs = new BusLogs({
    clock: new FakeClock(),
    log: capturingLogger("error").log,
    arnScope: { partition: "aws", service: "events", region: "us-east-1" },
    destinations: ["arn:aws:logs:{region}:{account}:log-group:{bus}"],
    writer: {
      write: async (_arn, account) => {
        written.push(account);
        return true;
      },
    },
  });
  for (const [account, count] of [
    ["111111111111", 150],
    ["222222222222", 1],
  ] as const) {
    const bus = { account, name: "orders" };
    const settings = create(LogConfigSchema, { level: "TRACE", includeDetail: "FULL" });
    logs.configure({ afterCommit: (run) => run() }, bus, settings);
    for (let record = 0; record < count; record += 1)
      logs.add(bus, "EVENT_RECEIPT", () => ({ eventId: "1", details: { event_detail: "x".repeat(1_000_000) } }));
  }
  await logs.flush();
  expect(written.slice(0, 3)).toEqual(["111111111111", "222222222222", "111111111111"]);
  expect(written).toHaveLength(68);
});
