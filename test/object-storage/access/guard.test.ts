import type { DescMethod, Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { anonymousCaller, rootCaller } from "../../../services/kit/identity/caller.ts";
import type { CallContext } from "../../../services/kit/server/handlers.ts";
import type { Application, OperationName } from "../../../services/object-storage/application.ts";
import { handlers } from "../../../services/object-storage/service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, put, startWithBucket } from "../harness.ts";

const hasField = (name: string) => (method: DescMethod) => method.input.fields.some((field) => field.name === name);
const onBuckets = ObjectStorageService.methods.filter(
  (method) => hasField("bucket")(method) && method.name !== "CreateBucket",
);
const withoutBatch = onBuckets.filter(({ name }) => name !== "DeleteObjects");
const onCopies = onBuckets.filter(hasField("copy_source"));
const onNoBucket = ObjectStorageService.methods.filter((method) => !onBuckets.includes(method));

const gateway: Caller = { ...anonymousCaller, isPreauthorized: true };
const callers = { alice: rootCaller(alice), bob: rootCaller(bob), nobody: anonymousCaller, gateway };

type AnyHandler = (request: unknown, context: CallContext<Application>) => unknown;

/** How a call ended: the reason of the refusal before its handler, or that it reached the handler. */
type Outcome = string;

const reached: Outcome = "reached its handler";

/** Calls the service's own handler of a method; `pulled` counts the messages that were read of a streamed request. */
const callOf = async (
  harness: Harness,
  method: (typeof ObjectStorageService.methods)[number],
  members: object,
  caller: Caller,
): Promise<{ readonly outcome: Outcome; readonly pulled: number }> => {
  const context: CallContext<Application> = {
    app: harness.opened.app,
    method,
    access: undefined,
    caller,
    requestId: "request",
    signal: new AbortController().signal,
    deadlineMs: undefined,
    requestHeader: new Headers(),
    responseHeader: new Headers(),
    responseTrailer: new Headers(),
    log: silentLogger,
  };
  const request: Message = create(method.input, { bucket: "photos", copySource: "photos/cat.jpg", ...members });
  let pulled = 0;
  async function* streamed(): AsyncGenerator<Message> {
    for (; pulled < 10;) {
      pulled += 1;
      yield request;
    }
  }
  const handler = handlers[method.localName as OperationName] as AnyHandler;
  const isStreamed = method.methodKind === "client_streaming";
  let refusal: unknown;
  try {
    const answer = await handler(isStreamed ? streamed() : request, context);
    if (method.methodKind === "server_streaming")
      await (answer as AsyncIterable<Message>)[Symbol.asyncIterator]().next();
  } catch (error) {
    refusal = error;
  }
  if (context.access !== undefined) return { outcome: reached, pulled };
  return { outcome: refusal instanceof ServiceError ? refusal.facts.reason : String(refusal), pulled };
};

/** The outcome of a call of each method, by the method's name. */
const outcomesOf = async (
  methods: readonly (typeof ObjectStorageService.methods)[number][],
  members: object,
  caller: keyof typeof callers,
): Promise<Record<string, Outcome>> => {
  const harness = await startWithBucket();
  await harness.client.createBucket({ bucket: "bobs" }, as(bob));
  await put(harness, { bucket: "photos", key: "cat.jpg" }, "meow");
  const outcomes: Record<string, Outcome> = {};
  for (const method of methods)
    outcomes[method.name] = (await callOf(harness, method, members, callers[caller])).outcome;
  return outcomes;
};

const allWith = (methods: readonly DescMethod[], outcome: Outcome): Record<string, Outcome> =>
  Object.fromEntries(methods.map(({ name }) => [name, outcome]));

describe("guard", () => {
  test("knows an existing bucket of every operation but six, and the source of both copies", () => {
    expect(onNoBucket.map(({ name }) => name)).toEqual([
      "CreateBucket",
      "ListBuckets",
      "WriteGetObjectResponse",
      "GetAccountPublicAccessBlock",
      "PutAccountPublicAccessBlock",
      "DeleteAccountPublicAccessBlock",
    ]);
    expect(onCopies.map(({ name }) => name)).toEqual(["UploadPartCopy", "CopyObject"]);
    expect(onBuckets.filter((method) => !hasField("expected_bucket_owner")(method))).toEqual([]);
  });

  test.each([
    // request, caller, outcome; in the order of refusal
    [{ bucket: "arn:aws:s3:us-east-1:1:accesspoint/x", expectedBucketOwner: "1" }, "bob", "NO_SUCH_BUCKET"],
    [{ bucket: "unknown", expectedBucketOwner: "1" }, "bob", "NO_SUCH_BUCKET"],
    [{ bucket: "unknown" }, "nobody", "NO_SUCH_BUCKET"],
    [{ expectedBucketOwner: "1" }, "bob", "INVALID_EXPECTED_BUCKET_OWNER"],
    [{ expectedBucketOwner: bob }, "alice", "ACCESS_DENIED"],
    [{ expectedBucketOwner: alice }, "bob", "ACCESS_DENIED"],
    [{}, "nobody", "ACCESS_DENIED"],
    [{ expectedBucketOwner: alice }, "alice", reached],
  ] as const)("every operation on a bucket with %o by %s ends as %s", async (request, caller, outcome) => {
    expect(await outcomesOf(withoutBatch, request, caller)).toEqual(allWith(withoutBatch, outcome));
  });

  test.each([
    // request, caller, outcome; in the order of refusal
    [{ bucket: "unknown", copySource: "nonsense" }, "alice", "NO_SUCH_BUCKET"],
    [{ copySource: "nonsense", expectedSourceBucketOwner: "1" }, "bob", "INVALID_ARGUMENT"],
    [{ copySource: "arn:aws:s3:us-east-1:1:accesspoint/x/object/y" }, "alice", "NO_SUCH_BUCKET"],
    [{ copySource: "unknown/k", expectedSourceBucketOwner: "1" }, "alice", "NO_SUCH_BUCKET"],
    [{ copySource: "bobs/k", expectedSourceBucketOwner: "1" }, "alice", "INVALID_EXPECTED_BUCKET_OWNER"],
    [{ expectedSourceBucketOwner: bob }, "alice", "ACCESS_DENIED"],
    [{ copySource: "bobs/k", expectedSourceBucketOwner: bob }, "alice", "ACCESS_DENIED"],
    [{ copySource: "bobs/k" }, "alice", "ACCESS_DENIED"],
    [{ bucket: "bobs" }, "bob", "ACCESS_DENIED"],
    [{ copySource: "/photos/unknown?versionId=1", expectedSourceBucketOwner: alice }, "alice", reached],
  ] as const)("every operation that copies with %o by %s ends as %s", async (request, caller, outcome) => {
    expect(await outcomesOf(onCopies, request, caller)).toEqual(allWith(onCopies, outcome));
  });

  test("every operation on no existing bucket is refused to anonymous callers only", async () => {
    expect(await outcomesOf(onNoBucket, {}, "nobody")).toEqual(allWith(onNoBucket, "ACCESS_DENIED"));
    expect(await outcomesOf(onNoBucket, {}, "gateway")).toEqual(allWith(onNoBucket, "ACCESS_DENIED"));
    expect(await outcomesOf(onNoBucket, {}, "bob")).toEqual(allWith(onNoBucket, reached));
  });

  test("the gateway reads the CORS rules and the website of every bucket without a caller, and nothing else", async () => {
    expect(await outcomesOf(onBuckets, {}, "gateway")).toEqual({
      ...allWith(onBuckets, "ACCESS_DENIED"),
      GetBucketCors: reached,
      GetBucketWebsite: reached,
      DeleteObjects: reached,
    });
    expect(await outcomesOf(onBuckets, { bucket: "unknown" }, "gateway")).toEqual(allWith(onBuckets, "NO_SUCH_BUCKET"));
  });

  test("a refused upload was read up to its first message", async () => {
    const harness = await startWithBucket();
    const pulledBy = async (method: (typeof ObjectStorageService.methods)[number], caller: Caller) =>
      (await callOf(harness, method, { key: "cat.jpg", uploadId: "u" }, caller)).pulled;
    const { putObject, uploadPart } = ObjectStorageService.method;
    expect([await pulledBy(putObject, callers.nobody), await pulledBy(putObject, callers.bob)]).toEqual([1, 1]);
    expect([await pulledBy(uploadPart, callers.nobody), await pulledBy(uploadPart, callers.bob)]).toEqual([1, 1]);
    expect(await pulledBy(putObject, callers.alice)).toBe(10);
  });
});
