import { describe, expect, test } from "vitest";

import { readCloudEvents } from "../../../gateway/cloud-events/read-cloud-events.ts";

const structured = { "content-type": "application/cloudevents+json; charset=UTF-8" };
const batched = { "content-type": "application/cloudevents-batch+json" };
const binary = { "ce-specversion": "1.0", "ce-id": "1", "ce-source": "/shop", "ce-type": "sale" };
const least = '"specversion":"1.0","id":"1","source":"/shop","type":"sale"';

const read = (headers: Record<string, string>, body: string | Buffer) => readCloudEvents(headers, Buffer.from(body));
const refusalOf = (headers: Record<string, string>, body: string | Buffer): string => {
  try {
    read(headers, body);
    return "accepted";
  } catch (error) {
    return (error as Error).message;
  }
};

describe("a structured CloudEvent", () => {
  test("is read with its text unchanged", () => {
    const json = `{${least},"time":"2018-04-05T17:31:00.5+02:00","n":7,"ok":true,"subject":null,"data":{"big":12345678901234567890.10}}`;
    expect(read(structured, ` ${json}\n`)).toEqual({
      isBatch: false,
      events: [{ id: "1", source: "/shop", type: "sale", timeMs: 1_522_942_260_500, json }],
    });
  });

  // body, refusal
  test.each([
    ["{", "The body is not JSON."],
    [Buffer.from([0x22, 0xff, 0x22]), "The body is not UTF-8."],
    ["[]", "A CloudEvent is a JSON object."],
    [`{${least},"data":1,"data_base64":""}`, "A CloudEvent has data or data_base64, not both."],
    [`{${least},"data_base64":"x"}`, "data_base64 is not a text in base64."],
    [`{${least},"Big":"x"}`, "The name of the attribute Big has not only a-z and 0-9."],
    [`{${least},"ext":{}}`, "The attribute ext is not a text, a whole number or a boolean."],
    [`{${least},"ext":1.5}`, "The attribute ext is not a text, a whole number or a boolean."],
    [`{${least.replace("1.0", "0.3")}}`, "The attribute specversion is not 1.0."],
    [`{${least.replace('"id":"1",', "")}}`, "The attribute id is missing."],
    [`{${least.replace("/shop", "")}}`, "The attribute source is missing."],
    [`{${least.replace('"sale"', "1")}}`, "The attribute type is missing."],
    [`{${least},"time":"yesterday"}`, "The attribute time is not a time of RFC 3339."],
    [`{${least},"time":"2018-13-05T17:31:00Z"}`, "The attribute time is not a time of RFC 3339."],
    [`{${least},"data_base64":"eA=="}`, "accepted"],
    [`{${least}}`, "accepted"],
  ])("%s is answered with: %s", (body, refusal) => {
    expect(refusalOf(structured, body)).toBe(refusal);
  });
});

describe("a batch of CloudEvents", () => {
  test("is read event by event, with their texts unchanged", () => {
    const first = `{${least},"data":[{"a":"]},[\\"\\\\"},1.0]}`;
    const second = `{ ${least} }`;
    const { events, isBatch } = read(batched, `\n[ ${first} ,${second}]`);
    expect([isBatch, ...events.map(({ json }) => json)]).toEqual([true, first, second]);
  });

  test.each([
    ["{}", "A batch of CloudEvents is a JSON array."],
    ["[]", "A batch has 1 to 10 CloudEvents; this one has 0."],
    [`[${Array(11).fill(`{${least}}`).join()}]`, "A batch has 1 to 10 CloudEvents; this one has 11."],
    [`[{${least}},1]`, "A CloudEvent is a JSON object."],
  ])("%s is answered with: %s", (body, refusal) => {
    expect(refusalOf(batched, body)).toBe(refusal);
  });
});

describe("a binary CloudEvent", () => {
  // headers, body, the event in the JSON format after its least members
  test.each<[Record<string, string>, string | Buffer, string]>([
    [{ "content-type": "application/json" }, ' {"a":1.0} ', ',"datacontenttype":"application/json","data":{"a":1.0}'],
    [
      { "content-type": "application/vnd.shop+json; v=1" },
      "1",
      ',"datacontenttype":"application/vnd.shop+json; v=1","data":1',
    ],
    [{ "content-type": "text/plain" }, 'a"b', ',"datacontenttype":"text/plain","data":"a\\"b"'],
    [{ "content-type": "image/png" }, Buffer.from([255, 0]), ',"datacontenttype":"image/png","data_base64":"/wA="'],
    [{}, "", ""],
    [{ "ce-subject": "5% of 100%" }, "", ',"subject":"5% of 100%"'],
    [{ "ce-subject": "Caf%C3%A9%20%22x%22" }, "", ',"subject":"Café \\"x\\""'],
    [{ "ce-subject": '"a \\"b\\""' }, "", ',"subject":"a \\"b\\""'],
    // Each character is a byte of the header.
    [{ "ce-subject": "Caf\xc3\xa9" }, "", ',"subject":"Café"'],
    [{ "ce-subject": "Caf\xe9" }, "", ',"subject":"Café"'],
  ])("with the headers %j is read", (headers, body, rest) => {
    expect(read({ ...binary, ...headers }, body).events).toEqual([
      { id: "1", source: "/shop", type: "sale", timeMs: undefined, json: `{${least}${rest}}` },
    ]);
  });

  // headers, body, refusal
  test.each<[Record<string, string>, string, string]>([
    [{ "content-type": "application/json" }, "{", "The body is not JSON."],
    [{ "ce-id": "" }, "", "The attribute id is missing."],
    [{ "ce-specversion": "2" }, "", "The attribute specversion is not 1.0."],
    [{ "ce-a-b": "1" }, "", "The name of the attribute a-b has not only a-z and 0-9."],
    [{ "ce-subject": "%FF" }, "", "The header ce-subject is not encoded as UTF-8 in percents."],
  ])("with the headers %j and the body %s is answered with: %s", (headers, body, refusal) => {
    expect(refusalOf({ ...binary, ...headers }, body)).toBe(refusal);
  });
});

// headers
test.each<Record<string, string>>([
  {},
  { "content-type": "application/json" },
  { ...binary, "content-type": "application/cloudevents+avro" },
  { "content-type": "application/cloudevents" },
])("a request with the headers %j has no known content", (headers) => {
  expect(refusalOf(headers, "{}")).toMatch(/is not that of CloudEvents in JSON, and there is no header ce-specversion/);
});

test("events that are larger than any bus accepts are refused before they are parsed", () => {
  const of = (bytes: number): string => `{${least}${" ".repeat(bytes - least.length - 2)}}`;
  expect(refusalOf(structured, of(524_288))).toBe("accepted");
  expect(refusalOf(structured, of(524_289))).toBe("Your request was too big.");
});
