import { connect } from "node:net";

import { CopyObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { describe, expect, onTestFinished, test } from "vitest";

import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { handlers } from "../../../services/object-storage/service.ts";
import { eventually } from "../../support/eventually.ts";
import { headBytes } from "../support/raw-client.ts";
import { signHeaders, testKey } from "../support/signing-client.ts";
import { startStorageFixture } from "../support/storage-fixture.ts";

/** A gateway that begins long answers at once, before a service whose copies wait until they are released. */
const start = async () => {
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const waiting =
    <Request, Context, Answer>(operation: (request: Request, context: Context) => Promise<Answer>) =>
    async (request: Request, context: Context): Promise<Answer> => {
      await released;
      return operation(request, context);
    };
  const { copyObject, uploadPartCopy } = handlers;
  if (typeof copyObject !== "function" || typeof uploadPartCopy !== "function") throw new Error("copies are offered");
  const storage = await startStorageFixture({
    limits: { earlyStatusAfterMs: 10 },
    operations: { copyObject: waiting(copyObject), uploadPartCopy: waiting(uploadPartCopy) },
  });
  onTestFinished(() => storage.stop());
  await storage.call({ method: "PUT", target: "/photos" });
  await storage.call({ method: "PUT", target: "/photos/cat.jpg", body: "meow" });
  return { storage, release };
};

/** Sends a copy, and returns what has arrived so far. */
const sendCopy = (
  storage: Awaited<ReturnType<typeof startStorageFixture>>,
  target: string,
): { readonly received: () => string } => {
  const { hostname, port, host } = new URL(storage.url);
  const request = { method: "PUT", target, headers: { "x-amz-copy-source": "photos/cat.jpg" } };
  const brand = amzDialect.signature;
  const signed = signHeaders(request, host, { brand, service: "s3", nowMs: storage.clock.now(), tellsHash: true });
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let text = "";
  socket.setEncoding("latin1");
  socket.on("data", (piece: string) => (text += piece));
  socket.write(headBytes("PUT", target, { ...signed, host, "content-length": "0" }));
  return { received: () => text };
};

/** What the chunks of an answer hold. */
const contentOf = (answer: string): string =>
  answer
    .slice(answer.indexOf("\r\n\r\n") + 4)
    .split("\r\n")
    .filter((_line, index) => index % 2 === 1)
    .join("");

describe("a copy that takes long", () => {
  test.each([
    // target, root of the answer
    ["/photos/copy.jpg", "CopyObjectResult"],
    ["/photos/film?partNumber=1&uploadId=UPLOAD", "CopyPartResult"],
  ])("to %s has status 200 and white space first, in chunks, then its result %s", async (path, root) => {
    const { storage, release } = await start();
    const started = await storage.call({ method: "POST", target: "/photos/film?uploads" });
    const uploadId = /<UploadId>(.*)<\/UploadId>/.exec(started.body)?.[1] ?? "";
    const { received } = sendCopy(storage, path.replace("UPLOAD", uploadId));
    await eventually(() => /\?>\n(?:.|\r\n)* /.test(received()), "white space arrives");
    expect(received()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(received().toLowerCase()).toContain("transfer-encoding: chunked");
    expect(received()).not.toContain("<ETag>");
    release();
    await eventually(() => received().endsWith("0\r\n\r\n"), "the answer ends");
    expect(contentOf(received())).toMatch(new RegExp(`^<\\?xml[^>]*>\\n +<${root} .*<ETag>.*</${root}>$`));
  });

  test("and fails then carries its error in the body", async () => {
    const { storage, release } = await start();
    const { received } = sendCopy(storage, "/photos/copy.jpg");
    await eventually(() => received().includes("\r\n\r\n"), "the status arrives");
    await storage.call({ method: "DELETE", target: "/photos/cat.jpg" });
    release();
    await eventually(() => received().endsWith("0\r\n\r\n"), "the answer ends");
    expect(received()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(contentOf(received())).toMatch(/^<\?xml[^>]*>\n +<Error><Code>NoSuchKey<\/Code>.*<\/Error>$/);
  });

  test("and fails then is a failure to the official SDK", async () => {
    const { storage, release } = await start();
    storage.clock.advance(Date.now() - storage.clock.now());
    const { accessKeyId, secretAccessKey } = testKey;
    const client = new S3Client({
      endpoint: storage.url,
      region: "us-east-1",
      forcePathStyle: true,
      maxAttempts: 1,
      credentials: { accessKeyId, secretAccessKey },
    });
    onTestFinished(() => client.destroy());
    await client.send(new PutObjectCommand({ Bucket: "photos", Key: "cat.jpg", Body: "meow" }));
    const copy = { Bucket: "photos", Key: "copy.jpg", CopySource: "photos/cat.jpg" };
    const copying = client.send(new CopyObjectCommand(copy)).catch((error: unknown) => error);
    await eventually(() => storage.called.includes("CopyObject"), "the copy has begun");
    await storage.call({ method: "DELETE", target: "/photos/cat.jpg" });
    release();
    expect(await copying).toMatchObject({ name: "NoSuchKey" });
  });
});

test("a copy that is quick is answered in chunks too", async () => {
  const { storage, release } = await start();
  release();
  const { received } = sendCopy(storage, "/photos/copy.jpg");
  await eventually(() => received().endsWith("0\r\n\r\n"), "the answer ends");
  expect(received().toLowerCase()).toContain("transfer-encoding: chunked");
  expect(received().toLowerCase()).not.toContain("content-length");
});
