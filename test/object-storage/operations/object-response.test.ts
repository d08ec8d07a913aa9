import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { ServiceError } from "../../../services/kit/faults/service-error.ts";
import { describedRequestHeaders } from "../../../services/kit/identity/user-request.ts";
import type { CallContext } from "../../../services/kit/server/handlers.ts";
import { handlers } from "../../../services/object-storage/service.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";

import { rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { checkForwarded, forwardedError } from "../../../services/object-storage/domain/forwarded-answer.ts";
import { PendingAnswers } from "../../../services/object-storage/functions/pending-answers.ts";
import { declaredAccessPoints } from "../../../services/object-storage/access/access-points.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import { admissionOf, policyOf } from "../access/in-process.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { alice, as, bob, get, refusalOf, startHarness } from "../harness.ts";

const pointArn = `arn:aws:s3-object-lambda:us-east-1:${alice}:accesspoint/loud`;

const start = async (options: HarnessOptions = {}): Promise<Harness> => {
  const function_ = `arn:aws:lambda:us-east-1:${alice}:function:shout`;
  const harness = await startHarness({
    ...options,
    accessPoints: declaredAccessPoints(
      { [`loud-${alice}`]: { bucket: "photos", function: function_ } },
      { region: "us-east-1" },
    ),
  });
  await harness.client.createBucket({ bucket: "photos" }, as(alice));
  return harness;
};

describe("GetObject by an access point with a function", () => {
  test.each([
    // what the user may do, outcome
    [["s3:GetObject", "s3-object-lambda:GetObject"], "answered"],
    [["s3:GetObject"], "ACCESS_DENIED"],
    [["s3-object-lambda:GetObject"], "ACCESS_DENIED"],
  ])("by a user who may %j is %s", async (Action, outcome) => {
    const { opened } = await start();
    const Resource = ["arn:aws:s3:::photos/*", `${pointArn}/object/*`];
    const caller = userCaller(alice, "carol", [policyOf({ Effect: "Allow", Action, Resource })]);
    expect(await admissionOf(opened.app, "getObject", { bucket: pointArn, key: "k" }, caller)).toBe(outcome);
  });

  test("needs the gateway, and its ARN is that of its own service", async () => {
    const harness = await start();
    expect(await refusalOf(get(harness, { bucket: pointArn, key: "k" }))).toBe(
      "INVALID_REQUEST: Objects are transformed for requests over HTTP only.",
    );
    const plain = `arn:aws:s3:us-east-1:${alice}:accesspoint/loud`;
    expect(await refusalOf(get(harness, { bucket: plain, key: "k" }))).toBe("NO_SUCH_BUCKET");
  });
});

describe("writeGetObjectResponse to a reader that waits", () => {
  const input = { bucket: "photos", key: "k", versionId: undefined, caller: userCaller(alice, "carol", []) };
  const answer = { head: {} as never, body: (async function* () {})(), finish: () => undefined };

  test("is answered once, by a caller of the account, with its route and token", async () => {
    const answers = new PendingAnswers(randomIds);
    const { route, token, answer: awaited } = answers.open(alice, input);
    expect(answers.hand("io-other", token, alice, answer)).toBe(false);
    expect(answers.hand(route, "other", alice, answer)).toBe(false);
    expect(answers.hand(route, token, bob, answer)).toBe(false);
    expect(answers.hand(route, token, alice, answer)).toBe(true);
    expect(await awaited).toBe(answer);
    expect(answers.hand(route, token, alice, answer)).toBe(false);
  });

  test("lends the object until it ends", () => {
    const answers = new PendingAnswers(randomIds);
    const pending = answers.open(alice, input);
    expect(answers.findInput(pending.inputName)).toBe(input);
    expect(answers.findInput("photos")).toBeUndefined();
    pending.end();
    expect(answers.findInput(pending.inputName)).toBeUndefined();
    expect(answers.hand(pending.route, pending.token, alice, answer)).toBe(false);
  });
});

test("an answer that comes at the moment at which its reader gives up is told so", async () => {
  const clock = new FakeClock();
  const { opened } = await start({ clock });
  const { app } = opened;
  const { promise: invoked, resolve: invoke } = Promise.withResolvers<string>();
  const { promise: ended } = Promise.withResolvers<undefined>();
  Object.assign(app, {
    functions: {
      invoke: (_arn: string, event: string) => {
        invoke(event);
        return ended;
      },
    },
  });
  const described = describedRequestHeaders({ base: "http://127.0.0.1:1", url: "http://127.0.0.1:1/k", headers: {} });
  const context = {
    app,
    method: ObjectStorageService.method.getObject,
    caller: rootCaller(alice),
    requestId: "r",
    signal: new AbortController().signal,
    requestHeader: new Headers(described),
    responseHeader: new Headers(),
    log: silentLogger,
  } as unknown as CallContext<typeof app>;
  const request = create(ObjectStorageService.method.getObject.input, { bucket: pointArn, key: "k" });
  const getObject = handlers.getObject as (each: typeof request, of: typeof context) => AsyncIterable<unknown>;
  const read = getObject(request, context)[Symbol.asyncIterator]().next();
  const refused = read.then(
    () => "answered",
    (error: ServiceError) => error.facts.reason,
  );
  const { outputRoute, outputToken } = (JSON.parse(await invoked) as { getObjectContext: Record<string, string> })
    .getObjectContext;
  const { promise: finished, resolve: finish } = Promise.withResolvers<Error | undefined>();
  const written = { head: {} as never, body: (async function* () {})(), finish };
  clock.advance(55_000);
  expect(app.answers.hand(outputRoute ?? "", outputToken ?? "", alice, written)).toBe(true);
  expect(await refused).toBe("LAMBDA_TIMEOUT");
  expect(await finished).toMatchObject({ facts: { reason: "RESPONSE_INTERRUPTED" } });
});

describe("what a function answers", () => {
  test.each([
    // answer, refusal
    [{ statusCode: 302 }, "The status 302 cannot be forwarded."],
    [{ errorCode: "NoSuchKey" }, "An error needs the status of an error."],
    [{ statusCode: 206, errorMessage: "no" }, "An error needs the status of an error."],
  ])("%o is refused", (members, refusal) => {
    expect(() => checkForwarded(members)).toThrow(refusal);
  });

  test("may be an error, whose text is escaped", () => {
    checkForwarded({ statusCode: 404, errorCode: "A" });
    expect(Buffer.from(forwardedError({ errorCode: "A&B", errorMessage: "<\n>" }) ?? []).toString()).toBe(
      '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>A&amp;B</Code><Message>&lt; &gt;</Message></Error>',
    );
    expect(forwardedError({ statusCode: 404 })).toBeUndefined();
  });
});
