import { create } from "@bufbuild/protobuf";
import type { DescMessage, Message, MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import {
  CreateDomainRequestSchema,
  ListTagsForResourceResponseSchema,
  PutProfileObjectTypeRequestSchema,
} from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import {
  ListTagsForResourceResponseSchema as BusTagsSchema,
  StartReplayRequestSchema,
} from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { GetRouteResponseSchema } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { ErrorCode } from "../../../gen/quartet/refactoringworkspace/v1/resource_error_pb.ts";
import { readMembers, writeMembers } from "../../../gateway/codecs/rest-json.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import { svcDialect } from "../../../gateway/dialects/svc.ts";

const read = (desc: DescMessage, text: string): Message => {
  const message = create(desc);
  readMembers(message, desc, Buffer.from(text), { spelling: spellingOf(amzDialect), violations: [] });
  return message;
};

const objectType = PutProfileObjectTypeRequestSchema;
const domain = CreateDomainRequestSchema;
const replay = StartReplayRequestSchema;
const score = (text: string): string => `{"Matching":{"AutoMerging":{"MinAllowedConfidenceScoreForMerging":${text}}}}`;

describe("a member of a JSON body", () => {
  const withScore = (value: number): MessageInitShape<typeof domain> => ({
    matching: { autoMerging: { minAllowedConfidenceScoreForMerging: value } },
  });
  test.each([
    // type, message, text, what is read
    ["a string", objectType, '{"Description":"a"}', { description: "a" }],
    ["true or false", objectType, '{"AllowProfileCreation":false}', { allowProfileCreation: false }],
    ["a whole number", objectType, '{"ExpirationDays":-7}', { expirationDays: -7 }],
    ["a number", domain, score("0.5"), withScore(0.5)],
    ["a number that a double does not hold", domain, score("9007199254740993"), withScore(9007199254740992)],
    ["a number of another name", domain, score('"Infinity"'), withScore(Number.POSITIVE_INFINITY)],
    ["a map", objectType, '{"Tags":{"a":"b","__proto__":"c","gone":null}}', { tags: { a: "b", ["__proto__"]: "c" } }],
    [
      "an instant in seconds",
      replay,
      '{"EventStartTime":1.5}',
      { eventStartTime: { seconds: 1n, nanos: 500_000_000 } },
    ],
    ["an instant as text", replay, '{"EventStartTime":"1970-01-01T00:00:01Z"}', { eventStartTime: { seconds: 1n } }],
    ["absent when it is null", objectType, '{"Description":null}', {}],
    ["ignored when it is unknown", objectType, '{"Unknown":[1]}', {}],
  ])("is read: %s", (_type, desc, text, expected) => {
    expect(read(desc, text)).toEqual(create(desc as DescMessage, expected));
  });

  test.each([
    // wanted, message, text, refusal
    ["a document", objectType, "{", "The body is not well-formed JSON."],
    ["an object as the body", objectType, "[]", "The body must be an object."],
    ["a string", objectType, '{"Description":1}', "Member 'Description' must be a string."],
    [
      "true or false",
      objectType,
      '{"AllowProfileCreation":"true"}',
      "Member 'AllowProfileCreation' must be true or false.",
    ],
    ["a whole number", objectType, '{"ExpirationDays":1.5}', "Member 'ExpirationDays' must be a whole number."],
    ["a whole number", objectType, '{"ExpirationDays":"1"}', "Member 'ExpirationDays' must be a whole number."],
    [
      "one in range",
      objectType,
      '{"ExpirationDays":2147483648}',
      "Member 'ExpirationDays' must be a whole number in range.",
    ],
    [
      "a number",
      domain,
      score('"1"'),
      "Member 'Matching.AutoMerging.MinAllowedConfidenceScoreForMerging' must be a number.",
    ],
    ["an object as a map", objectType, '{"Tags":[]}', "Member 'Tags' must be an object."],
    ["a string in a map", objectType, '{"Tags":{"a":1}}', "Member 'Tags.a' must be a string."],
    ["a list", replay, '{"Destination":{"FilterArns":"a"}}', "Member 'Destination.FilterArns' must be a list."],
    [
      "a value in a list",
      replay,
      '{"Destination":{"FilterArns":[null]}}',
      "Member 'Destination.FilterArns[0]' must be a value.",
    ],
    ["an object in an object", replay, '{"Destination":1}', "Member 'Destination' must be an object."],
    ["an instant", replay, '{"EventStartTime":"yesterday"}', "Member 'EventStartTime' must be an instant."],
    ["an instant", replay, '{"EventStartTime":true}', "Member 'EventStartTime' must be an instant."],
  ])("is refused unless it is %s", (_wanted, desc, text, message) => {
    expect(() => read(desc, text)).toThrow(message);
  });
});

test("a map that is always there is written when it is empty", () => {
  const { body } = writeMembers(
    create(ListTagsForResourceResponseSchema),
    ListTagsForResourceResponseSchema,
    spellingOf(amzDialect),
  );
  expect(String(body)).toBe('{"tags":{}}');
});

test("a tag of the event bus has its value also where that is empty", () => {
  const { body } = writeMembers(
    create(BusTagsSchema, { tags: [{ key: "a" }, { key: "b", value: "c" }] }),
    BusTagsSchema,
    spellingOf(amzDialect),
  );
  expect(String(body)).toBe('{"Tags":[{"Key":"a","Value":""},{"Key":"b","Value":"c"}]}');
});

test("the code of a failed health check has no underscores in the documented dialect", () => {
  const route = create(GetRouteResponseSchema, { error: { code: ErrorCode.SERVICE_ENDPOINT_HEALTH_CHECK_FAILURE } });
  const written = [svcDialect("svc"), amzDialect].map((dialect) =>
    String(writeMembers(route, GetRouteResponseSchema, spellingOf(dialect)).body),
  );
  expect(written.map((text) => /"Code":"(\w+)"/.exec(text)?.[1])).toEqual([
    "SERVICEENDPOINTHEALTHCHECKFAILURE",
    "SERVICE_ENDPOINT_HEALTH_CHECK_FAILURE",
  ]);
});
