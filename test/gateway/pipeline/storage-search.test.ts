import { CreateBucketCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { startStorageClient } from "../support/storage-client.ts";

const Bucket = "films";

test("a bucket is indexed and searched by documents", async () => {
  const { client, storage } = await startStorageClient();
  const call = (method: string, query: string, body?: string) =>
    storage.call({ method, target: `/films?${query}`, ...(body === undefined ? {} : { body }) });
  await client.send(new CreateBucketCommand({ Bucket }));
  await client.send(
    new PutObjectCommand({ Bucket, Key: "a b/é", Body: "film", Tagging: "kind=cat", Metadata: { By: "ann" } }),
  );
  expect((await call("GET", "searchIndex=")).body).toContain("<Code>NoSuchSearchIndex</Code>");

  const attributes =
    "<Attribute><Source>Tag</Source><Name>kind</Name></Attribute>" +
    "<Attribute><Source>Metadata</Source><Name>by</Name></Attribute>";
  const index = `<SearchIndexConfiguration>${attributes}</SearchIndexConfiguration>`;
  expect((await call("PUT", "searchIndex=", index)).status).toBe(200);
  const state = async () => (await call("GET", "searchIndex=")).body;
  await eventually(async () => (await state()).includes("<Status>ACTIVE</Status>"), "the index is built");
  expect(await state()).toContain(`${attributes}<Status>ACTIVE</Status></SearchIndex>`);

  const condition = (attribute: string, wanted: string) =>
    `<Condition><Attribute>${attribute}</Attribute>${wanted}</Condition>`;
  const kind = condition("<Source>Tag</Source><Name>kind</Name>", "<Equals>cat</Equals>");
  const by = condition("<Source>Metadata</Source><Name>by</Name>", "<BeginsWith>a</BeginsWith>");
  const search = (document: string, query = "search=") =>
    call("POST", query, `<SearchObjectsRequest>${document}</SearchObjectsRequest>`);
  const found = await search(`${kind}${by}<SizeAtLeast>4</SizeAtLeast>`, "encoding-type=url&search=");
  expect(found.status).toBe(200);
  expect(found.body).toMatch(
    /<SearchResult xmlns="[^"]+"><Contents><Key>a\+b\/%C3%A9<\/Key>.*<\/Contents><IsTruncated>false<\/IsTruncated><KeyCount>1<\/KeyCount>/,
  );
  expect((await search(`${kind}<SizeAtLeast>5</SizeAtLeast>`)).body).toContain("<KeyCount>0</KeyCount>");
  expect((await search("<Condition/>")).body).toContain("<Code>MalformedXML</Code>");
  expect((await search(kind, "continuation-token=x&search=")).body).toContain(
    "<Code>InvalidArgument</Code><Message>The continuation token provided is incorrect</Message>",
  );

  expect((await call("DELETE", "searchIndex=")).status).toBe(204);
  expect((await search(kind)).status).toBe(404);
});
