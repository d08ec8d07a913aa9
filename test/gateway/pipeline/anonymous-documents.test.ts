import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { headBytes, sendBytes } from "../support/raw-client.ts";
import type { StorageFixture } from "../support/storage-fixture.ts";
import { startStorageFixture } from "../support/storage-fixture.ts";

let storage: StorageFixture;
beforeAll(async () => {
  storage = await startStorageFixture();
  const Action = ["s3:DeleteObject", "s3:GetObject"];
  const allow = { Effect: "Allow", Principal: "*", Action, Resource: "arn:aws:s3:::open/*" };
  await storage.call({ method: "PUT", target: "/private" });
  await storage.call({ method: "PUT", target: "/open" });
  const unblocked =
    "<PublicAccessBlockConfiguration><BlockPublicPolicy>false</BlockPublicPolicy></PublicAccessBlockConfiguration>";
  await storage.call({ method: "PUT", target: "/open?publicAccessBlock", body: unblocked });
  const policy = JSON.stringify({ Version: "2012-10-17", Statement: [allow] });
  await storage.call({ method: "PUT", target: "/open?policy", body: policy });
});
afterAll(() => storage.stop());

const chunked = {
  "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
  "x-amz-decoded-content-length": "900000000",
  "x-amz-trailer": "x-amz-checksum-crc32",
  "content-encoding": "aws-chunked",
};

const codeOf = (body: string): string | undefined => /<Code>(.*)<\/Code>/.exec(body)?.[1];

describe("a document of an anonymous caller", () => {
  test.each([
    // the request, the status, the code
    ["PUT", "/private?tagging", 403, "AccessDenied"],
    ["PUT", "/private?policy", 403, "AccessDenied"],
    ["POST", "/private?delete", 403, "AccessDenied"],
    ["PUT", "/private/letter?tagging", 403, "AccessDenied"],
    ["POST", "/private/letter?uploadId=1", 403, "AccessDenied"],
    ["POST", "/private/letter?select&select-type=2", 403, "AccessDenied"],
    ["POST", "/missing?delete", 404, "NoSuchBucket"],
    ["POST", "/missing/letter?select&select-type=2", 404, "NoSuchBucket"],
  ])("that nothing can allow is refused unread: %s %s", async (method, target, status, code) => {
    for (const more of [{}, { expect: "100-continue" }] as readonly Record<string, string>[]) {
      const headers = { host: "localhost", "content-length": "1000000", ...more };
      const response = await sendBytes(storage.url, headBytes(method, target, headers));
      expect([response.status, codeOf(response.body)]).toEqual([status, code]);
    }
  });

  test.each([
    // the request, more headers
    ["PUT", "/private/cat.jpg", {}],
    ["PUT", "/private/cat.jpg", chunked],
    ["PUT", "/private/cat.jpg?partNumber=1&uploadId=1", {}],
    ["PUT", "/private/cat.jpg?partNumber=1&uploadId=1", chunked],
  ])("or an upload to a private bucket is refused before a byte of it is asked for: %s %s %j", async (...row) => {
    const [method, target, more] = row;
    const headers = { host: "localhost", "content-length": "1000000000", expect: "100-continue", ...more };
    const response = await sendBytes(storage.url, headBytes(method, target, headers));
    expect([response.status, codeOf(response.body)]).toEqual([403, "AccessDenied"]);
  });

  test("or a form is refused before a byte of its file is sent: who calls is in its fields", async () => {
    const head = {
      host: "localhost",
      "content-type": "multipart/form-data; boundary=b",
      "content-length": "1000000000",
    };
    const key = '--b\r\ncontent-disposition: form-data; name="key"\r\n\r\ncat.jpg\r\n';
    const file = '--b\r\ncontent-disposition: form-data; name="file"; filename="cat.jpg"\r\n\r\n';
    const response = await sendBytes(storage.url, headBytes("POST", "/private", head) + key + file);
    expect([response.status, codeOf(response.body)]).toEqual([403, "AccessDenied"]);
  });

  test("that a policy may allow is read, and decided on with what it has", async () => {
    const body = "<Delete><Object><Key>a</Key></Object></Delete>";
    const deleted = await storage.send({ method: "POST", target: "/open?delete", body });
    expect([deleted.status, deleted.body]).toEqual([200, expect.stringContaining("<Deleted><Key>a</Key></Deleted>")]);
    const tagged = await storage.send({ method: "PUT", target: "/open?tagging", body: "<Tagging><TagSet/></Tagging>" });
    expect([tagged.status, codeOf(tagged.body)]).toEqual([403, "AccessDenied"]);
  });

  test("that asks for many answers is decided on in the same way", async () => {
    await storage.call({ method: "PUT", target: "/open/people.csv", body: "Ann,1\nBob,2\n" });
    const body =
      "<SelectObjectContentRequest><Expression>SELECT _1 FROM S3Object</Expression><ExpressionType>SQL</ExpressionType>" +
      "<InputSerialization><CSV/></InputSerialization><OutputSerialization><CSV/></OutputSerialization>" +
      "</SelectObjectContentRequest>";
    const selected = await storage.send({ method: "POST", target: "/open/people.csv?select&select-type=2", body });
    expect([selected.status, selected.body]).toEqual([200, expect.stringContaining("Ann\nBob\n")]);
  });
});
