import { isDeepStrictEqual } from "node:util";

import { parseObject, isReadableSource, readSource } from "../../../services/customer-profile/domain/object-source.ts";
import { nextRun, parseSchedule } from "../../../services/kit/schedule/schedule.ts";
import { FilledTooLongError, fillInputTemplate, placeholdersOf } from "../../../services/event-bus/domain/template.ts";
import { readPath } from "../../../services/event-bus/json/json-path.ts";
import { flattenText } from "../../../services/event-bus/pattern/flatten.ts";
import { Matcher } from "../../../services/event-bus/pattern/matcher.ts";
import { parsePattern } from "../../../services/event-bus/pattern/parse.ts";
import { describePatternError, PatternError } from "../../../services/event-bus/pattern/pattern-error.ts";
import type { FuzzTarget } from "../target.ts";
import { holds, parsed } from "../target.ts";

const event =
  '{"source":"a.b","detail":{"state":"new","count":-1.5,"list":[1,"x",{"y":null}],"ip":"10.0.0.1","deep":{"a":{"b":"c"}}}}';

/** Longer patterns are refused before they are parsed. */
const patternLengthMax = 4_096;

const eventPattern: FuzzTarget = {
  name: "event-pattern",
  seeds: [
    '{"source":["a.b"],"detail":{"state":[{"prefix":"n"},{"anything-but":["old"]}],"count":[{"numeric":["<",0,">=",-2]}]}}',
    '{"detail":{"ip":[{"cidr":"10.0.0.0/8"}],"list":["x"],"gone":[{"exists":false}],"state":[{"wildcard":"*e*"}]}}',
    '{"$or":[{"source":[{"suffix":"b"}]},{"detail":{"state":[{"equals-ignore-case":"NEW"}]}}]}',
  ],
  dictionary: [
    '{"prefix":"', '{"suffix":"', '{"anything-but":', '{"numeric":["<",', '{"cidr":"', '{"exists":', '{"wildcard":"',
    '{"equals-ignore-case":"', '"$or":[', "*", "\\\\*", "null", "[]", "{}", "1e999", "::/0", "\\u0000",
  ], // prettier-ignore
  run(input) {
    const source = input.toString("utf8");
    if (source.length > patternLengthMax) return;
    try {
      const pattern = parsePattern(source);
      const matcher = new Matcher<string>().with([{ name: "it", pattern, item: "it" }]);
      const matched = matcher.match(flattenText(event, matcher.wants));
      holds(matched.length <= 1, "one pattern matches twice");
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      describePatternError(error, source);
    }
  },
};

const pattern = parsePattern('{"a":[{"exists":true}],"b":{"c":[{"prefix":"x"},1,null]},"d":[{"wildcard":"*y*"}]}');
const matcher = new Matcher<string>().with([{ name: "it", pattern, item: "it" }]);

const eventText: FuzzTarget = {
  name: "event",
  seeds: [event, '{"a":1,"b":{"c":["x1",1,null]},"d":"xyz"}', '{"a":[[{"b":"\\u0063"}]],"a":2}'],
  dictionary: ['{"a":', '"b":', '"c":', "[", "]", "{}", "null", "\\u0061", '\\"', "1e5", "true"],
  run(input) {
    const text = input.toString("utf8");
    // Events are stored only if they are JSON.
    const value = parsed(() => [JSON.parse(text) as unknown], SyntaxError)?.[0];
    if (value === undefined) return;
    matcher.match(flattenText(text, matcher.wants));
    for (const path of ["$.a", "$.b.c", "$.a[0]", "$.b.c[1]"]) {
      const found = readPath(text, path);
      // JSON.parse may read a name with an escape as another one.
      if (text.includes("\\")) continue;
      const expected = path
        .split(/[.[]/)
        .slice(1)
        .reduce<unknown>((each, name) => memberOf(each, name), value);
      const isSame = isDeepStrictEqual(found === undefined ? undefined : (JSON.parse(found) as unknown), expected);
      holds(isSame, `the value at ${path} is ${found}`);
    }
  },
};

const memberOf = (value: unknown, name: string): unknown => {
  if (typeof value !== "object" || value === null) return undefined;
  const isElement = name.endsWith("]");
  if (isElement !== Array.isArray(value)) return undefined;
  const key = isElement ? name.slice(0, -1) : name;
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
};

const schedule: FuzzTarget = {
  name: "schedule",
  seeds: [
    "rate(5 minutes)",
    "cron(0 12 * * ? *)",
    "cron(0/15 8-17 ? JAN,MAR MON-FRI 2026-2030)",
    "cron(0 0 L * ? *)",
    "cron(0 0 ? * 6#3 *)",
    "cron(0 0 15W 2 ? *)",
  ],
  dictionary: [
    "cron(",
    "rate(",
    ")",
    "?",
    "*",
    "L",
    "W",
    "#",
    "/",
    "-",
    ",",
    "MON",
    "JAN",
    "LW",
    "2199",
    "1 minute",
    "31 2",
  ],
  run(input) {
    const found = parseSchedule(input.toString("utf8"));
    if (found === undefined) return;
    const first = nextRun(found, 0, 1_767_225_600_000);
    if (first === undefined) return;
    holds(first > 1_767_225_600_000, "a run is not after the instant that was asked for");
    const second = nextRun(found, 0, first);
    holds(second === undefined || second > first, "the second run is not after the first one");
  },
};

const inputTemplate: FuzzTarget = {
  name: "input-template",
  seeds: [
    '"<state> at <aws.events.rule-name>"',
    '{"a":<state>,"b":"<whole> \\"<gone>"}',
    "[<aws.events.event.json>,<list>]",
  ],
  dictionary: ["<state>", "<whole>", "<list>", "<gone>", "<aws.events.event>", '"', "\\", "<", ">", "{", "}", ","],
  run(input) {
    const template = input.toString("utf8");
    placeholdersOf(template);
    const paths = { state: "$.detail.state", whole: "$", list: "$.detail.list", gone: "$.gone" };
    const predefined = { "aws.events.rule-name": '"r"', "aws.events.event": event, "aws.events.event.json": event };
    const filled = parsed(() => fillInputTemplate(template, { event, paths, predefined }), FilledTooLongError);
    if (filled !== undefined && !template.trimStart().startsWith('"')) JSON.parse(filled);
  },
};

const mappingSource: FuzzTarget = {
  name: "mapping-source",
  seeds: [
    "_source.a.b",
    "{{ _source.a }} and {{_source.c}}",
    "{{_source.a.b.c}}",
    "{{ {{_source.a}} }}",
    "{{#if _source.a.c}}{{_source.c}}{{else if _source.a.b}}b{{else}}'n'{{/if}}",
    "{{#each _source.a}}{{@key}}{{#unless @last}},{{/unless}}{{../_source.c}}{{@root._source.c}}{{/each}}",
    "{{a (b (c 'd}}' [e}}] (f)))}}{{^a}}{{~ else if _source.a}}",
    "{{#with _source.a}}{{b}}{{~#each this~}}{{@index}}{{this}}{{/each}}{{/with}}{{! c }}{{'x'}}",
  ],
  dictionary: [
    "_source",
    ".",
    "{{",
    "}}",
    " ",
    "__proto__",
    "constructor",
    "a",
    "b",
    "{{#if ",
    "{{/if}}",
    "{{#each ",
    "{{/each}}",
    "{{else}}",
    "{{#unless ",
    "{{/unless}}",
    "{{#with ",
    "{{/with}}",
    "{{^",
    "(a ",
    ")",
    "this",
    "../",
    "@root",
    "@index",
    "@last",
    "~",
  ],
  run(input) {
    const text = input.toString("utf8");
    const object = parseObject('{"a":{"b":1.50,"c":true},"c":"x","__proto__":{"d":"e"}}');
    holds(object !== undefined, "an object is read");
    const value = readSource(text, object!, { left: 100_000 });
    const isPlain = !/[{}]/.test(text);
    holds(
      isReadableSource(text) || isPlain || value === undefined || /[{}]/.test(value),
      "an unreadable source is read",
    );
    parseObject(text);
  },
};

export const eventTargets = [eventPattern, eventText, schedule, inputTemplate, mappingSource];
