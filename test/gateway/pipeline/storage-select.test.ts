import { crc32 } from "node:zlib";

import type { S3Client, SelectObjectContentEventStream } from "@aws-sdk/client-s3";
import { CreateBucketCommand, PutObjectCommand, SelectObjectContentCommand } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { eventFrame } from "../../../gateway/events/event-frame.ts";
import { startStorageClient } from "../support/storage-client.ts";

const people = "id,name\n1,Ann\n2,Bob\n";

const startWithPeople = async (content: string): Promise<S3Client> => {
  const { client } = await startStorageClient();
  await client.send(new CreateBucketCommand({ Bucket: "photos" }));
  await client.send(new PutObjectCommand({ Bucket: "photos", Key: "people.csv", Body: content }));
  return client;
};

const select = async (client: S3Client, Expression: string): Promise<AsyncIterable<SelectObjectContentEventStream>> => {
  const command = new SelectObjectContentCommand({
    Bucket: "photos",
    Key: "people.csv",
    Expression,
    ExpressionType: "SQL",
    InputSerialization: { CSV: { FileHeaderInfo: "USE" } },
    OutputSerialization: { JSON: {} },
    RequestProgress: { Enabled: true },
  });
  const { Payload } = await client.send(command);
  if (Payload === undefined) throw new Error("the answer has no events");
  return Payload;
};

test("the SDK reads the events of a query", async () => {
  const client = await startWithPeople(people);
  const events: unknown[] = [];
  for await (const { Records, ...event } of await select(client, "SELECT name FROM S3Object"))
    // On a slow machine there is progress before the first record, and something that keeps the connection open.
    if (event.Progress?.Details?.BytesProcessed !== 0 && event.Cont === undefined)
      events.push(Records === undefined ? event : Buffer.from(Records.Payload ?? []).toString());
  const Details = { BytesScanned: 20, BytesProcessed: 20, BytesReturned: 30 };
  expect(events).toEqual([
    '{"name":"Ann"}\n{"name":"Bob"}\n',
    { Progress: { Details } },
    { Stats: { Details } },
    { End: {} },
  ]);
});

test("a query is refused by its code before the first event, and by an event after it", async () => {
  const client = await startWithPeople(`${people}${"3,Cid\n".repeat(100_000)}"4"x,y\n`);
  await expect(select(client, "SELECT name, FROM S3Object")).rejects.toMatchObject({
    name: "ParseUnexpectedTerm",
    $metadata: { httpStatusCode: 400 },
  });
  const events = await select(client, "SELECT name FROM S3Object");
  const readAll = async () => {
    let records = 0;
    for await (const event of events) if (event.Records !== undefined) records += 1;
    return records;
  };
  await expect(readAll()).rejects.toThrow(
    "Encountered an unescaped quote character while parsing the CSV file. Check the file and try again.",
  );
});

test("a frame has its lengths, its headers and both checksums", () => {
  const frame = Buffer.concat(eventFrame({ ":event-type": "End" }, Buffer.from("abc")));
  expect(frame.toString("hex")).toBe(
    [
      "00000025", // 12 bytes before the headers, 18 of the headers, 3 of the payload, 4 of the checksum
      "00000012",
      crc32(Buffer.from("0000002500000012", "hex")).toString(16).padStart(8, "0"),
      "0b3a6576656e742d74797065", // the length of the name, and :event-type
      "070003456e64", // a text of 3 bytes, and End
      "616263",
      crc32(frame.subarray(0, -4)).toString(16).padStart(8, "0"),
    ].join(""),
  );
});
