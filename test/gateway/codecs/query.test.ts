import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";

import {
  CreateUserRequestSchema,
  CreateUserResponseSchema,
  GetUserPolicyResponseSchema,
  IdentityService,
  UpdateRoleResponseSchema,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { SecurityTokenService } from "../../../gen/quartet/identity/v1/security_token_service_pb.ts";
import { queryCodec } from "../../../gateway/codecs/query.ts";
import { parseQueryTree } from "../../../gateway/codecs/query-reader.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import type { Reading } from "../../../gateway/values/reading.ts";
import { refused } from "../support/refused.ts";

const spelling = spellingOf(amzDialect);
const codec = queryCodec("https://iam.example.com/");
const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

const read = (form: string) => {
  const reading: Reading = { spelling, violations: [] };
  const message = create(CreateUserRequestSchema);
  codec.readMembers(message, CreateUserRequestSchema, Buffer.from(form), reading);
  return { userName: message.userName, tags: message.tags.map(({ key, value }) => `${key}=${value}`) };
};

describe("a form of the query protocol", () => {
  // the form, the members
  test.for<[string, string, object]>([
    ["members", "Action=CreateUser&UserName=al%69ce", { userName: "alice", tags: [] }],
    ["a plus", "UserName=a+b", { userName: "a b", tags: [] }],
    ["the first of several", "UserName=a&UserName=b", { userName: "a", tags: [] }],
    [
      "a list in the order of its numbers",
      "Tags.member.10.Key=c&Tags.member.2.Key=b&Tags.member.2.Value=%C3%BC&Tags.member.1.Key=a",
      { userName: undefined, tags: ["a=", "b=\u00fc", "c="] },
    ],
    ["what nobody knows", "Colour=red&Tags.member.x.Key=a&__proto__.a=1", { userName: undefined, tags: [] }],
  ])("is read with %s", ([, form, members]) => {
    expect(read(form)).toEqual(members);
  });

  // what is wrong, the form, the reason
  test.for<[string, string, string]>([
    ["escapes that are none", "UserName=%FF", "MALFORMED_URI"],
    ["too many parameters", "a=1&".repeat(1_001), "MALFORMED_BODY"],
    ["so many that reading them would take seconds", "%61&".repeat(4 * 1024 * 1024), "MALFORMED_BODY"],
    ["too many parts of a name", "a.b.c.d.e.f.g.h.i=1", "MALFORMED_BODY"],
  ])("is refused with %s", ([, form, reason]) => {
    expect(() => parseQueryTree(form)).toThrow(refused(reason));
  });
});

describe("an answer of the query protocol", () => {
  const written = (desc: Parameters<typeof codec.writeMembers>[1], message: Record<string, unknown>) =>
    codec.writeMembers(create(desc, message), desc, spelling, "request-1")?.body.toString("utf8");

  test("has its members in a result, in the namespace of the API", () => {
    const user = { userName: "alice", path: "/", createDate: timestampFromMs(0), tags: [{ key: "a", value: "<" }] };
    expect(written(CreateUserResponseSchema, { user })).toBe(
      `${declaration}<CreateUserResponse xmlns="https://iam.example.com/"><CreateUserResult><User><Path>/</Path>` +
        "<UserName>alice</UserName><CreateDate>1970-01-01T00:00:00.000Z</CreateDate>" +
        "<Tags><member><Key>a</Key><Value>&lt;</Value></member></Tags></User></CreateUserResult>" +
        "<ResponseMetadata><RequestId>request-1</RequestId></ResponseMetadata></CreateUserResponse>",
    );
  });

  test("has a result without members, for SDKs that look for one", () => {
    expect(written(UpdateRoleResponseSchema, {})).toBe(
      `${declaration}<UpdateRoleResponse xmlns="https://iam.example.com/"><UpdateRoleResult/>` +
        "<ResponseMetadata><RequestId>request-1</RequestId></ResponseMetadata></UpdateRoleResponse>",
    );
  });

  test.each([...IdentityService.methods, ...SecurityTokenService.methods].map((method) => [method.name, method]))(
    "to %s names its request",
    (_name, { output }) => {
      const metadata = "<ResponseMetadata><RequestId>request-1</RequestId></ResponseMetadata>";
      expect(written(output, {})).toContain(`${metadata}</${output.name}>`);
    },
  );

  test("has documents percent-encoded", () => {
    expect(
      written(GetUserPolicyResponseSchema, { userName: "a", policyName: "p", policyDocument: '{"a": 1}' }),
    ).toContain("<PolicyDocument>%7B%22a%22%3A%201%7D</PolicyDocument>");
  });

  test("that refuses says whose fault it is", () => {
    const fault = {
      name: "NoSuchEntity",
      publicName: "NoSuchEntity",
      status: 404,
      message: "No.",
      members: [],
      headers: {},
    };
    const context = { dialect: amzDialect, requestId: "r", hostId: "h", resource: "/", hasWrappedErrors: false };
    expect(codec.writeFault(fault, context).body.toString("utf8")).toBe(
      `${declaration}<ErrorResponse xmlns="https://iam.example.com/"><Error><Type>Sender</Type><Code>NoSuchEntity</Code>` +
        "<Message>No.</Message></Error><RequestId>r</RequestId></ErrorResponse>",
    );
    expect(codec.writeFault({ ...fault, status: 503 }, context).body.toString("utf8")).toContain(
      "<Type>Receiver</Type>",
    );
  });
});
