import { createHmac } from "node:crypto";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { Dialect } from "../../../gateway/dialects/dialect.ts";
import type { Fixture } from "../support/fixture.ts";
import { dialects, startFixture } from "../support/fixture.ts";
import type { TestResponse } from "../support/signing-client.ts";
import { send, testKey } from "../support/signing-client.ts";

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture();
  fixture.answer("PutBook", () => ({ eTag: '"abc"' }));
});
afterAll(() => fixture.stop());
beforeEach(() => {
  fixture.received.length = 0;
});

const boundary = "----a-boundary";

const part = (name: string, value: string, fileName?: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${fileName === undefined ? "" : `; filename="${fileName}"\r\nContent-Type: text/x-ignored`}\r\n\r\n${value}\r\n`;

const bodyOf = (fields: Readonly<Record<string, string>>, file: string, fileName = "emma.txt"): string =>
  Object.entries(fields)
    .map(([name, value]) => part(name, value))
    .join("") + `${part("file", file, fileName)}${part("x-amz-meta-late", "never read")}--${boundary}--\r\n`;

const post = (body: string, target = "/novels"): Promise<TestResponse> =>
  send(fixture.url, { method: "POST", target, body }, { "content-type": `multipart/form-data; boundary=${boundary}` });

/** The fields of a form whose policy allows a key below `drafts/` of 2 to 8 bytes. */
const signedFields = (
  dialect: Dialect,
  fields: Readonly<Record<string, string>> = {},
  conditions: readonly unknown[] = [],
): Record<string, string> => {
  const { algorithm, terminator, keySeed, headerPrefix } = dialect.signature;
  const service = dialect.signingNames["object-storage"]?.[0] ?? "";
  const scope = ["20260102", "us-east-1", service, terminator];
  const policy = Buffer.from(
    JSON.stringify({
      expiration: "2026-01-02T04:00:00.000Z",
      conditions: [
        { bucket: "novels" },
        ["starts-with", "$key", "drafts/"],
        ["content-length-range", 2, 8],
        ...["algorithm", "credential", "date"].map((name) => ["starts-with", `$${headerPrefix}${name}`, ""]),
        ...conditions,
      ],
    }),
  ).toString("base64");
  let key = Buffer.from(keySeed + testKey.secretAccessKey);
  for (const each of scope) key = createHmac("sha256", key).update(each).digest();
  return {
    key: "drafts/${filename}",
    ...fields,
    policy,
    [`${headerPrefix}algorithm`]: algorithm,
    [`${headerPrefix}credential`]: `${testKey.accessKeyId}/${scope.join("/")}`,
    [`${headerPrefix}date`]: "20260102T030405Z",
    [`${headerPrefix}signature`]: createHmac("sha256", key).update(policy).digest("hex"),
  };
};

describe("an upload by a form", () => {
  test("becomes the request that would store the same object", async () => {
    const fields = signedFields(
      dialects.amz,
      { "Content-Type": "text/plain", "x-amz-meta-author": "Jané", "x-amz-book-class": "aws:lock" },
      [
        ["eq", "$content-type", "text/plain"],
        ["starts-with", "$x-amz-meta-author", ""],
        { "x-amz-book-class": "aws:lock" },
      ],
    );
    const response = await post(bodyOf(fields, "Em\r\nma", "C:\\books\\emma 1.txt"));
    expect(response.body).toBe("");
    expect(response.status).toBe(204);
    expect(response.headers).toMatchObject({ etag: '"abc"', "x-amz-request-id": expect.any(String) });
    expect(response.headers["location"]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/novels\/drafts%2Femma%201\.txt$/);
    expect(fixture.received).toMatchObject([
      {
        method: "PutBook",
        message: {
          shelf: "novels",
          book: "drafts/emma 1.txt",
          contentType: "text/plain",
          bookClass: "BOOK_CLASS_LOCKED",
          metadata: { author: "Jané" },
        },
        body: "Em\r\nma",
        caller: { accountId: "000000000000", isAnonymous: false },
      },
    ]);
  });

  test("is understood in the documented dialect by its fields", async () => {
    const response = await post(bodyOf(signedFields(dialects.svc), "Emma"));
    expect(response.status).toBe(204);
    expect(response.headers).toHaveProperty("x-svc-request-id");
  });

  test("without a policy is anonymous, and the service decides", async () => {
    await post(bodyOf({ key: "emma" }, "Emma"));
    expect(fixture.received).toMatchObject([{ body: "Emma", caller: { isAnonymous: true } }]);
  });

  test("keeps a file that spans many pieces and holds what looks like a boundary", async () => {
    const file = `${"x".repeat(300_000)}\r\n--${boundary.slice(0, -1)}\r\n--\r\n`;
    await post(bodyOf({ key: "emma" }, file));
    expect(fixture.received[0]?.body).toBe(file);
  });

  test.each([
    // field, its value, status, location, what the body holds
    ["success_action_status", "200", 200, /\/novels\/emma$/, ""],
    ["success_action_status", "201", 201, /\/novels\/emma$/, "<PostResponse><Location>http://127.0.0.1:"],
    ["success_action_status", "404", 204, /\/novels\/emma$/, ""],
    [
      "success_action_redirect",
      "https://example.com/done?a=b",
      303,
      "https://example.com/done?a=b&bucket=novels&key=emma&etag=%22abc%22",
      "",
    ],
    ["success_action_redirect", "javascript:alert(1)", 204, /\/novels\/emma$/, ""],
  ])("that asks for %s %s is answered with %i", async (field, value, status, location, content) => {
    const response = await post(bodyOf({ key: "emma", [field]: value }, "Emma"));
    expect(response.status).toBe(status);
    expect(response.headers["location"]).toMatch(location);
    expect(response.body).toContain(content);
  });
});

describe("an upload by a form is refused", () => {
  test.each([
    // what is wrong, body, status, code
    ["the file is too large", () => bodyOf(signedFields(dialects.amz), "123456789"), 400, "EntityTooLarge"],
    ["the file is too small", () => bodyOf(signedFields(dialects.amz), "1"), 400, "EntityTooSmall"],
    [
      "a field is not allowed",
      () => bodyOf(signedFields(dialects.amz, { acl: "private" }), "1234"),
      403,
      "AccessDenied",
    ],
    [
      "the policy is changed",
      () => bodyOf({ ...signedFields(dialects.amz), policy: "e30=" }, "1234"),
      403,
      "SignatureDoesNotMatch",
    ],
    ["there is no key", () => bodyOf({}, "1234"), 400, "MalformedPOSTRequest"],
    ["there is no file", () => `${part("key", "emma")}--${boundary}--\r\n`, 400, "MalformedPOSTRequest"],
    [
      "the fields are too large",
      () => bodyOf({ key: "emma", long: "x".repeat(70_000) }, "1234"),
      400,
      "MaxPostPreDataLengthExceeded",
    ],
    ["the body ends half-way", () => bodyOf({ key: "emma" }, "1234").slice(0, 120), 400, "MalformedPOSTRequest"],
    ["the body is no form", () => "hello", 400, "MalformedPOSTRequest"],
    [
      "a member has no such value",
      () => bodyOf({ key: "emma", "x-amz-book-class": "PAPER" }, "1234"),
      400,
      "ValidationException",
    ],
  ])("when %s", async (_what, body, status, code) => {
    const response = await post(body());
    expect(response.body).toContain(code);
    expect(response.status).toBe(status);
  });

  test("when it is not of the type of a form", async () => {
    const response = await send(fixture.url, { method: "POST", target: "/novels", body: "key=emma" }, {});
    expect(response.status).toBe(412);
    expect(response.body).toContain("<Code>PreconditionFailed</Code>");
  });

  test("in the documented dialect once its fields show it", async () => {
    const response = await post(bodyOf(signedFields(dialects.svc), "1"));
    expect(response.status).toBe(400);
    expect(response.headers).toHaveProperty("x-svc-request-id");
  });
});
