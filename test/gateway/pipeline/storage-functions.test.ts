import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";

import type { WriteGetObjectResponseCommandInput } from "@aws-sdk/client-s3";
import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  WriteGetObjectResponseCommand,
} from "@aws-sdk/client-s3";
import { describe, expect, onTestFinished, test } from "vitest";

import { declaredAccessPoints } from "../../../services/object-storage/access/access-points.ts";
import { testKey } from "../support/signing-client.ts";
import type { StorageFixture } from "../support/storage-fixture.ts";
import { startStorageClient } from "../support/storage-client.ts";

const { accountId } = testKey;
const functionArn = `arn:aws:lambda:us-east-1:${accountId}:function:shout:live`;
const pointArn = `arn:aws:s3-object-lambda:us-east-1:${accountId}:accesspoint/loud`;
const Bucket = "loud-x1--ol-s3";

/** The event of a call, as far as functions read it. */
interface FunctionEvent {
  readonly getObjectContext: {
    readonly inputS3Url: string;
    readonly outputRoute: string;
    readonly outputToken: string;
  };
  readonly configuration: object;
  readonly userRequest: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  readonly userIdentity: object;
}

type Answering = Omit<WriteGetObjectResponseCommandInput, "RequestRoute" | "RequestToken">;

/** What a test's function can do. */
interface FunctionTools {
  readonly event: FunctionEvent;
  write(answer: Answering): Promise<number>;
  read(): Promise<string>;
}

/** How the Invoke API answers: its status, and whether the function failed. */
type Outcome = { readonly status?: number; readonly failed?: boolean } | undefined;

/** A client at a gateway, with the bucket `films` and an access point whose function is the given one. */
const start = async (handle: (tools: FunctionTools) => Promise<Outcome>) => {
  const handled: Promise<void>[] = [];
  const invoked: { path: string; event: FunctionEvent }[] = [];
  const tools: { client?: S3Client; storage?: StorageFixture } = {};
  const functions = createServer((request, response) => {
    const respond = async (): Promise<void> => {
      const event = JSON.parse(Buffer.concat(await request.toArray()).toString()) as FunctionEvent;
      invoked.push({ path: request.url ?? "", event });
      const { outputRoute: RequestRoute, outputToken: RequestToken, inputS3Url } = event.getObjectContext;
      const outcome = await handle({
        event,
        write: async (answer) => {
          const command = new WriteGetObjectResponseCommand({ RequestRoute, RequestToken, ...answer });
          return (await tools.client?.send(command))?.$metadata.httpStatusCode ?? 0;
        },
        read: async () => (await fetch(inputS3Url)).text(),
      }).catch(() => ({ failed: true }));
      const { status = 200, failed } = (outcome ?? {}) as Exclude<Outcome, undefined>;
      response.writeHead(status, failed === true ? { "x-amz-function-error": "Unhandled" } : {}).end("null");
    };
    handled.push(respond());
  });
  functions.listen(0, "127.0.0.1");
  await once(functions, "listening");
  onTestFinished(async () => {
    functions.closeAllConnections();
    functions.close();
    await once(functions, "close");
  });
  const { client, storage, clock } = await startStorageClient({
    functionsUrl: `http://127.0.0.1:${(functions.address() as AddressInfo).port}/api`,
    accessPoints: declaredAccessPoints(
      { [`loud-${accountId}`]: { bucket: "films", function: functionArn, payload: '{"by":2}', alias: Bucket } },
      { region: "us-east-1" },
    ),
  });
  // The route of an answer comes before the host, which is an address here.
  const writer = new S3Client({
    endpoint: storage.url,
    region: "us-east-1",
    forcePathStyle: true,
    disableHostPrefix: true,
    maxAttempts: 1,
    credentials: { accessKeyId: testKey.accessKeyId, secretAccessKey: testKey.secretAccessKey },
  });
  onTestFinished(async () => {
    await Promise.all(handled);
    writer.destroy();
  });
  tools.client = writer;
  tools.storage = storage;
  await client.send(new CreateBucketCommand({ Bucket: "films" }));
  await client.send(new PutObjectCommand({ Bucket: "films", Key: "a/é b", Body: "quiet" }));
  return { client, storage, clock, invoked };
};

describe("an access point with a function", () => {
  test("answers a read with what the function writes of the object, which it reads by a URL", async () => {
    const { client, invoked } = await start(async ({ read, write }) => {
      await write({
        Body: (await read()).toUpperCase(),
        ContentType: "text/loud",
        CacheControl: "no-store",
        Metadata: { by: "function" },
        ETag: '"loud"',
        StorageClass: "GLACIER",
        TagCount: 3,
        LastModified: new Date(Date.UTC(2026, 0, 2)),
      });
      return undefined;
    });
    const answer = await client.send(new GetObjectCommand({ Bucket, Key: "a/é b" }));
    expect(await answer.Body?.transformToString()).toBe("QUIET");
    expect(answer).toMatchObject({
      ContentType: "text/loud",
      CacheControl: "no-store",
      Metadata: { by: "function" },
      ETag: '"loud"',
      StorageClass: "GLACIER",
      TagCount: 3,
      LastModified: new Date(Date.UTC(2026, 0, 2)),
    });
    expect(invoked).toHaveLength(1);
    const [{ path, event } = { path: "", event: undefined }] = invoked;
    expect(path).toBe("/api/2015-03-31/functions/shout%3Alive/invocations");
    expect(event).toMatchObject({
      configuration: {
        accessPointArn: pointArn,
        supportingAccessPointArn: "arn:aws:s3:::films",
        payload: '{"by":2}',
      },
      userRequest: {
        url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/loud-x1--ol-s3\/a\/%C3%A9%20b\?x-id=GetObject$/),
      },
      userIdentity: { type: "Root", accountId, accessKeyId: testKey.accessKeyId },
      protocolVersion: "1.00",
    });
    const names = Object.keys(event?.userRequest.headers ?? {}).map((name) => name.toLowerCase());
    expect(names).toContain("user-agent");
    expect(names).not.toContain("authorization");
  });

  test.each([[pointArn], [`loud-${accountId}`]])("is read by its ARN or its name: %s", async (name) => {
    const { storage } = await start(async ({ write }) => {
      await write({ Body: "written" });
      return undefined;
    });
    const response = await storage.call({ method: "GET", target: `/${encodeURIComponent(name)}/k` });
    expect([response.status, response.body]).toEqual([200, "written"]);
  });

  test("streams an answer of unknown length", async () => {
    const pieces = Array.from({ length: 40 }, (_each, index) => Buffer.alloc(100_000, index));
    const { client } = await start(async ({ write }) => {
      await write({ Body: Readable.from(pieces) });
      return undefined;
    });
    const answer = await client.send(new GetObjectCommand({ Bucket, Key: "any" }));
    const body = Buffer.from((await answer.Body?.transformToByteArray()) ?? []);
    expect(body.equals(Buffer.concat(pieces))).toBe(true);
    expect(answer.ContentLength).toBeUndefined();
  });

  test("forwards a status, and an error with its name and message", async () => {
    const { client } = await start(async ({ event, write }) => {
      if (event.userRequest.url.includes("/part"))
        await write({ StatusCode: 206, ContentRange: "bytes 0-1/9", Body: "ab" });
      else await write({ StatusCode: 404, ErrorCode: "NoSuchFilm", ErrorMessage: "There is <none>." });
      return undefined;
    });
    const part = await client.send(new GetObjectCommand({ Bucket, Key: "part" }));
    expect([part.$metadata.httpStatusCode, part.ContentRange]).toEqual([206, "bytes 0-1/9"]);
    await expect(client.send(new GetObjectCommand({ Bucket, Key: "gone" }))).rejects.toMatchObject({
      name: "NoSuchFilm",
      message: "There is <none>.",
      $metadata: { httpStatusCode: 404 },
    });
  });

  test("passes everything but reads on to its bucket", async () => {
    const { client, invoked } = await start(async () => undefined);
    await client.send(new PutObjectCommand({ Bucket, Key: "new", Body: "x" }));
    expect((await client.send(new HeadObjectCommand({ Bucket: "films", Key: "new" }))).ContentLength).toBe(1);
    expect((await client.send(new HeadObjectCommand({ Bucket, Key: "new" }))).ContentLength).toBe(1);
    expect(invoked).toEqual([]);
  });

  test.each([
    // what the function does, name, status
    ["ends without an answer", undefined, "LambdaResponseNotReceived", 500],
    ["fails", { failed: true }, "LambdaRuntimeError", 500],
    ["does not exist", { status: 404 }, "LambdaNotFound", 404],
    ["may not be called", { status: 403 }, "LambdaPermissionError", 403],
    ["cannot be called", { status: 502 }, "LambdaInvocationFailed", 400],
  ] as const)("is refused where the function %s", async (_what, outcome, name, status) => {
    const { client } = await start(async () => outcome);
    await expect(client.send(new GetObjectCommand({ Bucket, Key: "k" }))).rejects.toMatchObject({
      name,
      $metadata: { httpStatusCode: status },
    });
  });

  test("is refused where the function does not begin its answer in time", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<undefined>();
    const { promise: called, resolve: call } = Promise.withResolvers<undefined>();
    const { client, clock } = await start(async () => {
      call(undefined);
      return held;
    });
    const refused = client.send(new GetObjectCommand({ Bucket, Key: "k" })).catch((error: unknown) => error);
    await called;
    clock.advance(55_000);
    expect(await refused).toMatchObject({ name: "LambdaTimeout" });
    release(undefined);
  });

  test("takes one answer, and only of who knows its token", async () => {
    const outcomes: string[] = [];
    const { storage } = await start(async ({ event, write }): Promise<Outcome> => {
      const { outputRoute, outputToken } = event.getObjectContext;
      const headers = { "x-amz-request-route": outputRoute, "x-amz-request-token": `${outputToken}0` };
      outcomes.push(
        String((await storage.call({ method: "POST", target: "/WriteGetObjectResponse", headers })).status),
      );
      await write({ Body: "all" });
      outcomes.push(String(await write({ Body: "again" }).catch((error: Error) => error.name)));
      return undefined;
    });
    expect((await storage.call({ method: "GET", target: `/${Bucket}/k` })).body).toBe("all");
    await expect.poll(() => outcomes).toEqual(["400", "ValidationError"]);
  });
});

describe("the URL by which a function reads an object", () => {
  test("is good for that object only, and ends with the answer", async () => {
    const urls: string[] = [];
    const seen: (number | string)[] = [];
    const { client } = await start(async ({ event, write }) => {
      const { inputS3Url } = event.getObjectContext;
      urls.push(inputS3Url);
      seen.push(await (await fetch(inputS3Url, { headers: { range: "bytes=1-2" } })).text());
      seen.push((await fetch(inputS3Url.replace("/a/", "/b/"))).status);
      seen.push((await fetch(inputS3Url, { method: "DELETE" })).status);
      await write({ Body: "x" });
      return undefined;
    });
    await (await client.send(new GetObjectCommand({ Bucket, Key: "a/é b" }))).Body?.transformToString();
    expect(seen).toEqual(["ui", 404, 404]);
    expect((await fetch(urls[0] ?? "")).status).toBe(404);
  });
});
