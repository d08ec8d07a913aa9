import { describe, expect, test } from "vitest";

import { fillInputTemplate, placeholdersOf } from "../../../services/event-bus/domain/template.ts";

const values = {
  event:
    '{"id":"e-1","detail":{"state":"new","n":1.50,"big":12345678901234567890,"ok":true,"none":null,' +
    '"who":{"acc_id":"0a78","sf_id":"baz"},"list":["A","B"],"say":"say \\"hi\\""},"resources":["r-0","r-1"]}',
  paths: {
    state: "$.detail.state",
    n: "$.detail.n",
    big: "$.detail.big",
    ok: "$.detail.ok",
    none: "$.detail.none",
    who: "$.detail.who",
    list: "$.detail.list",
    say: "$.detail.say",
    first: "$.resources[0]",
    missing: "$.detail.missing",
  },
  predefined: { "aws.events.rule-name": '"new-order"', "aws.events.event": '{"id":"e-1"}' },
};

describe("a JSON template", () => {
  // template | result
  test.each([
    ['{"s":<state>}', '{"s":"new"}'],
    ['{"n":<n>,"big":<big>,"ok":<ok>,"none":<none>}', '{"n":1.50,"big":12345678901234567890,"ok":true,"none":null}'],
    ['{"who":<who>,"list":<list>}', '{"who":{"acc_id":"0a78","sf_id":"baz"},"list":["A","B"]}'],
    ['{"text":"state is <state>, n <n>"}', '{"text":"state is new, n 1.50"}'],
    ['{"text":"<first>"}', '{"text":"r-0"}'],
    ['{"missing":<missing>,"text":"<missing>"}', '{"missing":"","text":""}'],
    ['{"rule":<aws.events.rule-name>,"event":<aws.events.event>}', '{"rule":"new-order","event":{"id":"e-1"}}'],
    ['{"escaped \\"<state>":1}', '{"escaped \\"new":1}'],
    ["[<state>,<n>]", '["new",1.50]'],
    ["<who>", '{"acc_id":"0a78","sf_id":"baz"}'],
    ['{"a":"1 < 2 > 0"}', '{"a":"1 < 2 > 0"}'],
  ])("%s becomes %s", (template, result) => {
    expect(fillInputTemplate(template, values)).toBe(result);
  });

  test.each([
    ['{"text":"<who>"}'],
    ['{"text":"all of <list>"}'],
    ['{"text":"<say>"}'],
    ["{<state>}"],
    ["plain <state>"],
  ])("%s becomes no JSON", (template) => {
    expect(fillInputTemplate(template, values)).toBeUndefined();
  });
});

describe("a template that names a large value often", () => {
  const large = { ...values, paths: { a: "$" }, event: JSON.stringify("x".repeat(200_000)) };

  test.each([`"${"<a>".repeat(2_000)}"`, `{"all":"${"<a>".repeat(2_000)}"}`, `[${"<a>,".repeat(2_000)}0]`])(
    "is not filled: %.12s",
    (template) => {
      expect(() => fillInputTemplate(template, large)).toThrow("is longer than 1048576 characters");
    },
  );

  test("is filled while the result is not too long", () => {
    expect(fillInputTemplate("[<a>,<a>,<a>]", large)?.length).toBe(600_010);
  });
});

describe("a text template", () => {
  // template | result
  test.each([
    ['"state is <state>"', '"state is new"'],
    ['"<who>"', '"{acc_id:0a78,sf_id:baz}"'],
    ['"<list> <ok>"', '"[A,B] true"'],
    ['"first <state>"\n"second <n>"', '"first new"\n"second 1.50"'],
    ['"nothing: <missing>."', '"nothing: ."'],
    ['"<aws.events.rule-name>"', '"new-order"'],
  ])("%s becomes %s", (template, result) => {
    expect(fillInputTemplate(template, values)).toBe(result);
  });
});

test("placeholders are the names between angle brackets", () => {
  expect(placeholdersOf('{"a":<one>,"b":"<two-2>","c":"< three >","d":<aws.events.event.json>}')).toEqual([
    "one",
    "two-2",
    "aws.events.event.json",
  ]);
});
