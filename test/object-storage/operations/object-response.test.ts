import { describe, expect, test } from "vitest";

import { userCaller } from "../../../services/kit/identity/caller.ts";
import { checkForwarded, forwardedError } from "../../../services/object-storage/domain/forwarded-answer.ts";
import { PendingAnswers } from "../../../services/object-storage/functions/pending-answers.ts";
import { declaredAccessPoints } from "../../../services/object-storage/access/access-points.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import { admissionOf, policyOf } from "../access/in-process.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, get, refusalOf, startHarness } from "../harness.ts";

const pointArn = `arn:aws:s3-object-lambda:us-east-1:${alice}:accesspoint/loud`;

const start = async (): Promise<Harness> => {
  const function_ = `arn:aws:lambda:us-east-1:${alice}:function:shout`;
  const harness = await startHarness({
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
