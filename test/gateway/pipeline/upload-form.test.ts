import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import type { Fixture } from "../support/fixture.ts";
import { dialects, startFixture } from "../support/fixture.ts";
import { boundary, formBody, formHeaders, formPart, signedFields } from "../support/form.ts";
import { headBytes, sendBytes } from "../support/raw-client.ts";
import type { TestResponse } from "../support/signing-client.ts";
import { send } from "../support/signing-client.ts";

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture();
  fixture.answer("PutBook", () => ({ eTag: '"abc"' }));
});
afterAll(() => fixture.stop());
beforeEach(() => {
  fixture.received.length = 0;
});

const post = (body: string, target = "/novels"): Promise<TestResponse> =>
  send(fixture.url, { method: "POST", target, body }, formHeaders);

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
    const response = await post(formBody(fields, "Em\r\nma", "C:\\books\\emma 1.txt"));
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
    const response = await post(formBody(signedFields(dialects.svc), "Emma"));
    expect(response.status).toBe(204);
    expect(response.headers).toHaveProperty("x-svc-request-id");
  });

  test("without a policy is anonymous, and the service decides", async () => {
    await post(formBody({ key: "emma" }, "Emma"));
    expect(fixture.received).toMatchObject([{ body: "Emma", caller: { isAnonymous: true } }]);
  });

  test("has the file's name in its key as it is, also with what JavaScript would replace", async () => {
    await post(formBody({ key: "a/${filename}/${filename}" }, "Emma", "$&$`$'.txt"));
    expect(fixture.received).toMatchObject([{ message: { book: "a/$&$`$'.txt/$&$`$'.txt" } }]);
  });

  // 46 MB if it were filled as often as it asks for
  test("fills a key that is too long already no further", async () => {
    const response = await post(formBody({ key: "${filename}".repeat(5_700) }, "Emma", "x".repeat(8_000)));
    expect(response.status).toBe(204);
    expect(fixture.received.map(({ message }) => (message as { book: string }).book.length)).toEqual([8_000]);
  });

  test.each(["12", "12345678"])("may have the least and the greatest size that its policy allows: %s", async (file) => {
    expect((await post(formBody(signedFields(dialects.amz), file))).status).toBe(204);
  });

  test("keeps a file that spans many pieces and holds what looks like a boundary", async () => {
    const file = `${"x".repeat(300_000)}\r\n--${boundary.slice(0, -1)}\r\n--\r\n`;
    await post(formBody({ key: "emma" }, file));
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
    const response = await post(formBody({ key: "emma", [field]: value }, "Emma"));
    expect(response.status).toBe(status);
    expect(response.headers["location"]).toMatch(location);
    expect(response.body).toContain(content);
  });
});

describe("an upload by a form is refused", () => {
  test.each([
    // what is wrong, body, status, code
    ["the file is too large", () => formBody(signedFields(dialects.amz), "123456789"), 400, "EntityTooLarge"],
    ["the file is too small", () => formBody(signedFields(dialects.amz), "1"), 400, "EntityTooSmall"],
    [
      "a field is not allowed",
      () => formBody(signedFields(dialects.amz, { acl: "private" }), "1234"),
      403,
      "AccessDenied",
    ],
    [
      "the policy is changed",
      () => formBody({ ...signedFields(dialects.amz), policy: "e30=" }, "1234"),
      403,
      "SignatureDoesNotMatch",
    ],
    [
      "a field of the dialect is not one of uploads",
      () => formBody({ key: "emma", "x-amz-checksum-crc33": "x" }, "1234"),
      501,
      "A field you provided implies functionality that is not implemented: x-amz-checksum-crc33",
    ],
    ["its tags are no document", () => formBody({ key: "emma", tagging: "a=b" }, "1234"), 400, "MalformedXML"],
    ["its tags have another root", () => formBody({ key: "emma", tagging: "<Tags/>" }, "1234"), 400, "MalformedXML"],
    ["there is no key", () => formBody({}, "1234"), 400, "InvalidArgument"],
    ["there is no file", () => `${formPart("key", "emma")}--${boundary}--\r\n`, 400, "InvalidArgument"],
    [
      "the fields are too large",
      () => formBody({ key: "emma", long: "x".repeat(70_000) }, "1234"),
      400,
      "MaxPostPreDataLengthExceeded",
    ],
    ["the body ends half-way", () => formBody({ key: "emma" }, "1234").slice(0, 120), 400, "MalformedPOSTRequest"],
    ["the body is no form", () => "hello", 400, "MalformedPOSTRequest"],
    [
      "a member has no such value",
      () => formBody({ key: "emma", "x-amz-book-class": "PAPER" }, "1234"),
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
    const response = await post(formBody(signedFields(dialects.svc), "1"));
    expect(response.status).toBe(400);
    expect(response.headers).toHaveProperty("x-svc-request-id");
  });
});

test("a form whose fields do not end in time is refused, however long its connection may stall", async () => {
  const hasty = await startFixture({ bodyTimeoutMs: 50 });
  onTestFinished(() => hasty.stop());
  const head = headBytes("POST", "/novels", { host: "localhost", "content-length": "9999", ...formHeaders });
  const response = await sendBytes(hasty.url, `${head}${formPart("key", "emma")}`);
  expect([response.status, /<Code>(.*)<\/Code>/.exec(response.body)?.[1]]).toEqual([400, "RequestTimeout"]);
});
