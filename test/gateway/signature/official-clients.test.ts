/** The official clients as independent signers: what they send over a real connection is verified as it arrives. */
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";

import { CustomerProfilesClient, GetDomainCommand } from "@aws-sdk/client-customer-profiles";
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import {
  ListTagsForResourceCommand,
  MigrationHubRefactorSpacesClient,
} from "@aws-sdk/client-migration-hub-refactor-spaces";
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { describe, expect, onTestFinished, test } from "vitest";

import { parseQuery } from "../../../gateway/http/query.ts";
import { decodeBody } from "../../../gateway/signature/decode-body.ts";
import type { VerifiedRequest } from "../../../gateway/signature/verify.ts";
import type { SignedRequest } from "./verify-request.ts";
import { verifyRequest } from "./verify-request.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";
import { fixedAccessKeys } from "../../../services/kit/identity/access-keys.ts";
import { reasonOf } from "../support/refused.ts";
import { amz } from "./brands.ts";

interface Arrival {
  readonly url: string;
  readonly verified: VerifiedRequest;
  readonly body: Buffer;
  readonly trailers: Record<string, string>;
}

const credentials = { accessKeyId: "QKIAALICE", secretAccessKey: "alice's secret, long enough" };
const accessKeys = fixedAccessKeys([{ ...credentials, accountId: "111122223333", policies: [] }]);

const receive = async (request: IncomingMessage, isObjectStorage: boolean, signingName: string): Promise<Arrival> => {
  const url = request.url ?? "/";
  const question = `${url}?`.indexOf("?");
  const wire = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  const whole = isObjectStorage ? undefined : Buffer.concat(await Array.fromAsync(wire));
  const signed: SignedRequest = {
    method: request.method ?? "",
    rawPath: url.slice(0, question),
    query: parseQuery(url.slice(question + 1)),
    rawHeaders: request.rawHeaders,
    brand: amz,
    accessKeys,
    clock: systemClock,
    signingNames: [signingName],
    region: "us-east-1",
    doubleEncodePath: !isObjectStorage,
    body: whole,
  };
  const verified = verifyRequest(signed);
  const decoded = decodeBody(verified.payload, wire);
  const body = whole ?? Buffer.concat(await Array.fromAsync(decoded));
  return { url, verified, body, trailers: Object.fromEntries(decoded.trailers) };
};

/** A server that notes what arrives with a good signature and answers 200, and otherwise 403 with the reason. */
const listening = async (signingName: string) => {
  const arrivals: Arrival[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      arrivals.push(await receive(request, signingName === "s3", signingName));
      response.setHeader("content-type", "application/json").end(signingName === "s3" ? "" : "{}");
    } catch (error) {
      response.writeHead(403, { "x-reason": reasonOf(error), connection: "close" }).end();
    }
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { arrivals, configuration: { endpoint, region: "us-east-1", credentials, maxAttempts: 1 } };
};

const storage = async (change: object = {}) => {
  const { arrivals, configuration } = await listening("s3");
  const client = new S3Client({ ...configuration, forcePathStyle: true, ...change });
  onTestFinished(() => client.destroy());
  return { arrivals, client, ...configuration };
};

describe("the official object storage client", () => {
  test.for([
    "plain.txt",
    "a b+c=d&e?f#g%h'(i)*!~$@:;,.txt",
    "über/日本/😀",
    "//slashes//",
    "a/../b/./c",
    "%41%2F",
    "back\\slash",
    "\u0001",
  ])("gets the key %s", async (key) => {
    const { arrivals, client } = await storage();
    await client.send(new GetObjectCommand({ Bucket: "bucket", Key: key, VersionId: "a b+c/d=e" }));
    expect(arrivals.map((arrival) => arrival.verified.form)).toEqual(["header"]);
  });

  test("lists with any prefix", async () => {
    const { arrivals, client } = await storage();
    await client.send(
      new ListObjectsV2Command({ Bucket: "bucket", Prefix: "a b+c&d=e/é*'()~", Delimiter: "/", StartAfter: "" }),
    );
    expect(arrivals).toHaveLength(1);
  });

  test("puts bytes with their checksum in a header", async () => {
    const { arrivals, client } = await storage();
    await client.send(
      new PutObjectCommand({
        Bucket: "bucket",
        Key: "key",
        Body: "the body",
        Metadata: { note: "  two   spaces " },
        ContentType: "text/plain",
      }),
    );
    const [arrival] = arrivals;
    expect(arrival?.body.toString()).toBe("the body");
    expect(arrival?.verified.payload.kind).toBe("exact");
  });

  test("puts a stream with its checksum in a trailer", async () => {
    const { arrivals, client } = await storage();
    const body = Readable.from([Buffer.alloc(65_536, "a"), Buffer.alloc(65_536, "b"), Buffer.from("end")]);
    await client.send(
      new PutObjectCommand({
        Bucket: "bucket",
        Key: "key",
        Body: body,
        ContentLength: 131_075,
        ChecksumAlgorithm: "SHA256",
      }),
    );
    const [arrival] = arrivals;
    expect(arrival?.body).toHaveLength(131_075);
    expect(arrival?.verified.payload).toMatchObject({
      kind: "chunked",
      decodedLength: 131_075,
      trailerNames: ["x-amz-checksum-sha256"],
    });
    expect(arrival?.trailers).toEqual({ "x-amz-checksum-sha256": "mZUKz5eBgEoBQcd2ggcvusqTRtiied9l2btprnPd3Co=" });
  });

  test("presigns a get and a put", async () => {
    const { arrivals, client } = await storage();
    const get = await getSignedUrl(
      client,
      new GetObjectCommand({ Bucket: "bucket", Key: "ü b+c", ResponseContentType: "text/plain" }),
      { expiresIn: 60 },
    );
    const put = await getSignedUrl(
      client,
      new PutObjectCommand({ Bucket: "bucket", Key: "key", ContentType: "text/plain" }),
      { expiresIn: 604_800 },
    );
    expect((await fetch(get)).status).toBe(200);
    expect((await fetch(put, { method: "PUT", body: "uploaded" })).status).toBe(200);
    expect(arrivals.map(({ verified, body }) => [verified.form, body.toString()])).toEqual([
      ["presigned", ""],
      ["presigned", "uploaded"],
    ]);
  });

  test("is refused with another secret", async () => {
    const { arrivals, client } = await storage({ credentials: { ...credentials, secretAccessKey: "a wrong secret" } });
    await expect(client.send(new GetObjectCommand({ Bucket: "bucket", Key: "key" }))).rejects.toMatchObject({
      $response: { statusCode: 403, headers: { "x-reason": "SIGNATURE_MISMATCH" } },
    });
    expect(arrivals).toEqual([]);
  });

  test("is refused when its body changes on the way, while the connection still answers", async () => {
    const { client } = await storage();
    client.middlewareStack.add(
      (next) => (context) => {
        (context.request as { body: unknown }).body = "thE body";
        return next(context);
      },
      { step: "deserialize", priority: "low" },
    );
    await expect(
      client.send(new PutObjectCommand({ Bucket: "bucket", Key: "key", Body: "the body" })),
    ).rejects.toMatchObject({
      $response: { statusCode: 403, headers: { "x-reason": "PAYLOAD_MISMATCH" } },
    });
  });
});

describe("the other official clients", () => {
  test("publish events", async () => {
    const { arrivals, configuration } = await listening("events");
    const client = new EventBridgeClient(configuration);
    onTestFinished(() => client.destroy());
    await client.send(new PutEventsCommand({ Entries: [{ Source: "shop", DetailType: "order", Detail: '{"ü": 1}' }] }));
    expect(arrivals[0]?.verified).toMatchObject({ form: "header", caller: { accountId: "111122223333" } });
  });

  test("name resources in paths that are encoded twice", async () => {
    const { arrivals, configuration } = await listening("refactor-spaces");
    const client = new MigrationHubRefactorSpacesClient(configuration);
    onTestFinished(() => client.destroy());
    const resource = "arn:aws:refactor-spaces:us-east-1:111122223333:environment/env-1234567890";
    await client.send(new ListTagsForResourceCommand({ ResourceArn: resource }));
    expect(arrivals[0]?.url).toBe(
      "/tags/arn%3Aaws%3Arefactor-spaces%3Aus-east-1%3A111122223333%3Aenvironment%2Fenv-1234567890",
    );
  });

  test("get a domain whose name has a space", async () => {
    const { arrivals, configuration } = await listening("profile");
    const client = new CustomerProfilesClient(configuration);
    onTestFinished(() => client.destroy());
    await client.send(new GetDomainCommand({ DomainName: "a b" }));
    expect(arrivals[0]?.url).toBe("/domains/a%20b");
  });
});
