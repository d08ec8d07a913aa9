import { describe, expect, test } from "vitest";

import { startHarness } from "../harness.ts";
import { openShop } from "./shop.ts";

const detail = { n: 1 };
const members = {
  specversion: "1.0",
  source: "shop",
  type: "Sale",
  time: "2026-01-02T03:04:05Z",
  account: "000000000000",
  region: "us-east-1",
};
const accepted = { specversion: "1.0", id: "e-1", source: "shop", type: "Sale", subject: 'a b"%é', data: [1] };

/** What an API destination is sent for one event, by a target with these members. */
const sent = async (contentMode: string, sold: object, target: { inputPath?: string } = {}) => {
  const { client, app } = await startHarness();
  const shop = await openShop(client, { target: { ...target, cloudEventParameters: { contentMode } } });
  const id = await shop.sell(sold);
  await app.jobs.idle();
  const [request] = shop.till.received;
  const { headers = {}, body = "" } = request ?? {};
  const attributes = Object.entries(headers).filter(([name]) => name.startsWith("ce-"));
  return { id, type: headers["content-type"], attributes: Object.fromEntries(attributes), body: body.toString() };
};

const structured = "application/cloudevents+json; charset=utf-8";

describe("a delivery as a CloudEvent", () => {
  test("in the structured mode has the input as the data of its document", async () => {
    const { id, type, attributes, body } = await sent("STRUCTURED", detail, { inputPath: "$.detail" });
    expect([type, attributes]).toEqual([structured, {}]);
    expect(JSON.parse(body)).toEqual({ ...members, id, datacontenttype: "application/json", data: detail });
  });

  test("in the binary mode has its attributes in headers", async () => {
    const { id, type, attributes, body } = await sent("BINARY", detail, { inputPath: "$.detail" });
    const headers = Object.entries({ ...members, id }).map(([name, value]) => [`ce-${name}`, value]);
    expect({ type, attributes, body }).toEqual({
      type: "application/json",
      attributes: Object.fromEntries(headers),
      body: '{"n":1}',
    });
  });

  test("of an event that was accepted as one is that one, in both modes", async () => {
    expect((await sent("STRUCTURED", accepted)).body).toBe(JSON.stringify(accepted));
    const { attributes, body } = await sent("BINARY", accepted);
    expect({ attributes, body }).toEqual({
      attributes: {
        "ce-specversion": "1.0",
        "ce-id": "e-1",
        "ce-source": "shop",
        "ce-type": "Sale",
        "ce-subject": "a%20b%22%25%C3%A9",
      },
      body: "[1]",
    });
  });

  // members of the event's detail, content type, body
  test.each([
    [{ datacontenttype: "text/plain", data: "a\nb" }, "text/plain", "a\nb"],
    [{ datacontenttype: "image/png", data: undefined, data_base64: "aGk=" }, "image/png", "hi"],
    [{ datacontenttype: "application/json", data: "text" }, "application/json", '"text"'],
    [{ data: undefined }, "application/json", ""],
  ])("that was accepted with %j has the content type and bytes of its data", async (changed, type, body) => {
    expect(await sent("BINARY", { ...accepted, ...changed })).toMatchObject({ type, body });
  });

  // members of the event's detail
  test.each([
    [{ source: "other" }],
    [{ "order id": 7 }],
    [{ "x\r\nauthorization": "Bearer stolen" }],
    [{ datacontenttype: "text/plain\r\nauthorization: Bearer stolen" }],
  ])("is made from the event where its detail only looks like one: %j", async (changed) => {
    const { id, type, attributes } = await sent("BINARY", { ...accepted, ...changed });
    expect({ type, attributes }).toEqual({
      type: "application/json",
      attributes: {
        ...Object.fromEntries(Object.entries(members).map(([name, value]) => [`ce-${name}`, value])),
        "ce-id": id,
      },
    });
  });

  test("is made from the event where the target sets an input", async () => {
    const { id, attributes, body } = await sent("BINARY", accepted, { inputPath: "$.detail.data" });
    expect({ attributes, body }).toMatchObject({ attributes: { "ce-id": id }, body: "[1]" });
  });
});
