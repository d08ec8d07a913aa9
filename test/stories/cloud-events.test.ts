import { PutRuleCommand } from "@aws-sdk/client-eventbridge";
import { expect, onTestFinished, test } from "vitest";

import { amzDialect } from "../../gateway/dialects/amz.ts";
import { send, signHeaders } from "../gateway/support/signing-client.ts";
import { eventually } from "../support/eventually.ts";
import { startHttpReceiver } from "../support/http-receiver.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** Signs and sends requests of the owner account. */
const callerOf =
  (system: Awaited<ReturnType<typeof startSystem>>) =>
  (target: string, headers: Readonly<Record<string, string>>, body: string) => {
    const { gatewayUrl } = system.installation;
    const request = { method: "POST", target, headers, body };
    const signing = {
      brand: amzDialect.signature,
      service: "events",
      nowMs: Date.now(),
      tellsHash: false,
      accessKeyId: system.accessKeyId,
      secret: system.secretAccessKey,
    };
    return send(gatewayUrl, request, signHeaders(request, new URL(gatewayUrl).host, signing));
  };

const structured = { "content-type": "application/cloudevents+json" };
const batched = { "content-type": "application/cloudevents-batch+json" };

test("CloudEvents are put in each mode, matched, and delivered as they were", async () => {
  const receiver = await startHttpReceiver();
  onTestFinished(() => receiver.close());
  const system = await startSystem(await temporaryDirectory(), "error", {
    configuration: { eventBus: { brokers: { "000000000000/partner": { url: receiver.url, secret } } } },
  });
  onTestFinished(() => system.stop());
  const { eventBus } = system.clients;
  await eventBus.send(
    new PutRuleCommand({
      Name: "sales",
      EventPattern: '{"source":["/shop"],"detail-type":["sale"],"detail":{"data":{"n":[{"numeric":[">",0]}]}}}',
    }),
  );
  const Arn = "arn:aws:events:us-east-1:000000000000:broker/partner";
  const modes = ["BINARY", "STRUCTURED"] as const;
  const Targets = modes.map((ContentMode) => ({ Id: ContentMode, Arn, CloudEventParameters: { ContentMode } }));
  const call = callerOf(system);
  // The stock client leaves out members that it does not know.
  const targets = JSON.stringify({ Rule: "sales", Targets });
  expect((await call("/", { "x-amz-target": "AWSEvents.PutTargets" }, targets)).status).toBe(200);
  const put = (headers: Readonly<Record<string, string>>, body: string, bus = "") =>
    call(`/event-bus/cloudevents${bus}`, headers, body);
  const event = (id: string, data: string): string =>
    `{"specversion":"1.0","id":"${id}","source":"/shop","type":"sale","subject":"Café","retry":2,"data":${data}}`;
  const answers = [
    await put(structured, event("a", '{"n":1.0}')),
    await put(batched, `[${event("b", '{"n":2}')},${event("c", '{"n":3}').replace("/shop", "aws.shop")}]`, "/default"),
    await put(
      { "content-type": "text/json", "ce-specversion": "1.0", "ce-id": "d", "ce-source": "/shop", "ce-type": "sale" },
      '{"n":4}',
    ),
    await put(structured, event("e", "{}").replace("/shop", "aws.shop")),
    await put(structured, event("f", "{}").replace("sale", "x".repeat(129))),
    await put(structured, "{}"),
    await put({ "content-type": "text/plain" }, "{}"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400, 400, 400, 415]);
  expect(JSON.parse(answers[1]?.body ?? "")).toMatchObject({ FailedEntryCount: 1 });
  expect(JSON.parse(answers[5]?.body ?? "")).toMatchObject({ message: "The attribute specversion is not 1.0." });

  await eventually(() => receiver.received.length === 6, "all deliveries have arrived");
  const told = receiver.received.map(({ headers, body }) =>
    [
      headers["ce-id"] ?? "",
      headers["content-type"],
      headers["ce-subject"] ?? "",
      headers["ce-retry"] ?? "",
      body.toString(),
    ].join("|"),
  );
  const json = "application/cloudevents+json; charset=utf-8";
  const fromBinary =
    '{"specversion":"1.0","id":"d","source":"/shop","type":"sale","datacontenttype":"text/json","data":{"n":4}}';
  expect(told.toSorted()).toEqual(
    [
      'a|application/json|Caf%C3%A9|2|{"n":1.0}',
      'b|application/json|Caf%C3%A9|2|{"n":2}',
      'd|text/json|||{"n":4}',
      `|${json}|||${fromBinary}`,
      `|${json}|||${event("a", '{"n":1.0}')}`,
      `|${json}|||${event("b", '{"n":2}')}`,
    ].toSorted(),
  );
});

test("CloudEvents of one source and id are put once if their sender asks for it", async () => {
  const system = await startSystem(await temporaryDirectory(), "error");
  onTestFinished(() => system.stop());
  const call = callerOf(system);
  /** The ids of the events that a request is answered with. */
  const put = async (target: string, headers: Readonly<Record<string, string>>, body: string): Promise<string[]> => {
    const answer = await call(`/event-bus/cloudevents${target}`, headers, body);
    const { Entries } = JSON.parse(answer.body) as { readonly Entries: readonly { readonly EventId: string }[] };
    return Entries.map(({ EventId }) => EventId);
  };
  const event = (id: string, source: string, data = 1): string =>
    JSON.stringify({ specversion: "1.0", id, source, type: "sale", data });
  const [first = ""] = await put("?deduplicate=true", structured, event("1", "/shop"));
  expect(await put("/default?deduplicate=true", structured, event("1", "/shop", 2))).toEqual([first]);
  const binary = { "ce-specversion": "1.0", "ce-id": "1", "ce-source": "/shop", "ce-type": "sale" };
  const header = { "x-amz-deduplication-id": "other" };
  expect(await put("?deduplicate=true", { ...binary, ...header, "content-type": "text/plain" }, "x")).toEqual([first]);
  const [repeated, second, again, ofAnother] = await put(
    "?deduplicate=true",
    batched,
    `[${event("1", "/shop")},${event("2", "/shop")},${event("2", "/shop")},${event("1", "/kiosk")}]`,
  );
  expect([repeated, again]).toEqual([first, second]);
  const unasked = [
    ...(await put("", structured, event("1", "/shop"))),
    ...(await put("?deduplicate=false", structured, event("1", "/shop"))),
  ];
  expect(new Set([first, second, ofAnother, ...unasked]).size).toBe(5);

  // query, refusal
  for (const [query, message] of [
    ["?deduplicate=true&deduplicate=true", 'The query parameter "deduplicate" is given more than once.'],
    ["?deduplicate", "The parameter deduplicate is true or false."],
    ["?deduplicate=1", "The parameter deduplicate is true or false."],
  ] as const) {
    const answer = await call(`/event-bus/cloudevents${query}`, structured, "{");
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([400, { message }]);
  }
});
