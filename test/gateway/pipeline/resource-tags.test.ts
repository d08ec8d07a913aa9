/** The tags of buckets as tools ask for them that manage many services: at the host of an account, by ARN. */
import { CreateBucketCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { startStorageClient } from "../support/storage-client.ts";

const account = { "x-amz-account-id": "000000000000" };
const target = "/v20180820/tags/arn%3Aaws%3As3%3A%3A%3Aphotos";

const blockTarget = "/v20180820/configuration/publicAccessBlock";

const start = async () => {
  const { client, storage } = await startStorageClient();
  await client.send(new CreateBucketCommand({ Bucket: "photos" }));
  const host = `000000000000.localhost:${new URL(storage.url).port}`;
  return { client, storage, host };
};

test("they are added, listed and removed, at the host of the account and without it", async () => {
  const { storage, host } = await start();
  const body =
    '<TagResourceRequest xmlns="http://awss3control.amazonaws.com/doc/2018-08-20/"><Tags><Tag><Key>a b</Key>' +
    "<Value>1</Value></Tag><Tag><Key>c</Key><Value>2</Value></Tag></Tags></TagResourceRequest>";
  const call = async (method: string, query = "", content?: string) => {
    const request = { method, target: target + query, headers: account, ...(content && { body: content }) };
    const { status, body: answer } = await storage.call(request);
    expect(await storage.call({ ...request, host })).toMatchObject({ status, body: answer });
    return [status, answer];
  };
  const namespace = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  const listed = (tags: string) =>
    `<?xml version="1.0" encoding="UTF-8"?>\n<ListTagsForResourceResult${namespace}><Tags>${tags}</Tags>` +
    "</ListTagsForResourceResult>";
  expect(await call("POST", "", body)).toEqual([204, ""]);
  const both = "<Tag><Key>a b</Key><Value>1</Value></Tag><Tag><Key>c</Key><Value>2</Value></Tag>";
  expect(await call("GET")).toEqual([200, listed(both)]);
  expect(await call("DELETE", "?tagKeys=a%20b&tagKeys=none")).toEqual([204, ""]);
  expect(await call("GET")).toEqual([200, listed("<Tag><Key>c</Key><Value>2</Value></Tag>")]);
});

test("what all buckets of the account block is put, read and deleted, at its host and without it", async () => {
  const { storage, host } = await start();
  const call = async (method: string, content?: string, headers = account) => {
    const request = { method, target: blockTarget, headers, ...(content && { body: content }) };
    const { status, body } = await storage.call(request);
    expect((await storage.call({ ...request, host })).status).toBe(status);
    return [status, body];
  };
  const block =
    "<BlockPublicAcls>true</BlockPublicAcls><IgnorePublicAcls>false</IgnorePublicAcls>" +
    "<BlockPublicPolicy>false</BlockPublicPolicy><RestrictPublicBuckets>true</RestrictPublicBuckets>";
  const root = "PublicAccessBlockConfiguration";
  const missing = expect.stringContaining("<ErrorResponse><Error><Code>NoSuchPublicAccessBlockConfiguration</Code>");
  expect(await call("GET")).toEqual([404, missing]);
  const body = `<${root} xmlns="http://awss3control.amazonaws.com/doc/2018-08-20/">${block}</${root}>`;
  expect(await call("PUT", body)).toEqual([200, ""]);
  const xml = '<?xml version="1.0" encoding="UTF-8"?>\n';
  const answered = `${xml}<${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${block}</${root}>`;
  expect(await call("GET")).toEqual([200, answered]);
  const denied = expect.stringContaining("<Code>AccessDenied</Code>");
  const others = { "x-amz-account-id": "111122223333" };
  for (const method of ["GET", "PUT", "DELETE"])
    expect(await call(method, method === "PUT" ? body : undefined, others)).toEqual([403, denied]);
  expect(await call("DELETE")).toEqual([204, ""]);
  expect(await call("GET")).toEqual([404, missing]);
});

test("a refusal is inside an ErrorResponse, as the clients of these operations read it", async () => {
  const { storage, host } = await start();
  const request = { method: "GET", target: target.replace("photos", "nowhere"), headers: account, host };
  const { status, body } = await storage.call(request);
  expect(status).toBe(404);
  expect(body).toContain("<ErrorResponse><Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist");
  expect(body).toMatch(/<\/Error><RequestId>.+<\/RequestId><HostId>.+<\/HostId><\/ErrorResponse>$/);
});

// what is asked of the account
test.for([
  ["POST", "/v20180820/configuration/publicAccessBlock"],
  ["GET", "/v20180820/accesspoint"],
  ["PUT", "/v20180820/tags/arn%3Aaws%3As3%3A%3A%3Aphotos"],
] as const)("%s %s of an account is refused by name, whatever buckets there are", async ([method, path]) => {
  const { client, storage, host } = await start();
  await client.send(new CreateBucketCommand({ Bucket: "v20180820" }));
  await client.send(new CreateBucketCommand({ Bucket: "000000000000" }));
  const request = { method, target: path, headers: account, ...(method === "PUT" && { body: "<A/>" }) };
  for (const asked of [request, { ...request, host }]) {
    const { status, body } = await storage.call(asked);
    expect([status, body]).toEqual([501, expect.stringContaining("<Code>NotImplemented</Code>")]);
  }
});

test("a bucket may have the name of the path's beginning", async () => {
  const { client, storage } = await start();
  await client.send(new CreateBucketCommand({ Bucket: "v20180820" }));
  await client.send(new PutObjectCommand({ Bucket: "v20180820", Key: "tags/x", Body: "content" }));
  expect(await storage.call({ method: "GET", target: "/v20180820/tags/x" })).toMatchObject({ body: "content" });
});
