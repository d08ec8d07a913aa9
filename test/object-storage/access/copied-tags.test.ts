/*
 * A copy takes the tags of its source along unless it is told to replace them. Whoever makes such a copy must be able
 * to read those tags, and to give the copy tags.
 */
import { describe, expect, test } from "vitest";

import { declaredAccessPoints } from "../../../services/object-storage/access/access-points.ts";
import type { Harness, HarnessOptions } from "../harness.ts";
import { alice, as, put, startHarness } from "../harness.ts";
import { aliceRoot, outcomeOf, policyOf, refusalsOf, usersOfAlice } from "./in-process.ts";

const copy = { bucket: "photos", key: "copies/cat", copySource: "photos/tagged" };
const versionId = "null";
const ofVersion = { ...copy, copySource: `photos/tagged?versionId=${versionId}` };
const plain = { ...copy, copySource: "photos/plain" };
const replaced = { ...copy, taggingDirective: "REPLACE" };

const start = async (options: HarnessOptions = {}): Promise<Harness> => {
  const harness = await startHarness(options);
  await harness.client.createBucket({ bucket: "photos" }, as(alice));
  await put(harness, { bucket: "photos", key: "tagged", tagging: "team=red" }, "meow");
  await put(harness, { bucket: "photos", key: "plain" }, "meow");
  return harness;
};

const withActions = (...actions: readonly string[]) =>
  usersOfAlice({ Effect: "Allow", Action: actions.map((action) => `s3:${action}`), Resource: "*" });

describe("copyObject", () => {
  test.each([
    // request, what the caller may do besides, outcome
    [copy, ["GetObject"], "ACCESS_DENIED"],
    [copy, ["GetObject", "GetObjectTagging"], "ACCESS_DENIED"],
    [copy, ["GetObject", "PutObjectTagging"], "ACCESS_DENIED"],
    [copy, ["GetObject", "GetObjectTagging", "PutObjectTagging"], "answered"],
    [ofVersion, ["GetObjectVersion", "GetObjectTagging", "PutObjectTagging"], "ACCESS_DENIED"],
    [ofVersion, ["GetObjectVersion", "GetObjectVersionTagging", "PutObjectTagging"], "answered"],
    [plain, ["GetObject"], "answered"],
    [replaced, ["GetObject"], "answered"],
    [{ ...replaced, tagging: "team=blue" }, ["GetObject"], "ACCESS_DENIED"],
    [{ ...replaced, tagging: "team=blue" }, ["GetObject", "PutObjectTagging"], "answered"],
  ])("of %j by who may PutObject and %j: %s", async (request, actions, outcome) => {
    const { app } = (await start()).opened;
    expect(await outcomeOf(app, "copyObject", request, withActions("PutObject", ...actions))).toBe(outcome);
  });

  test("is refused for tags that a policy of the source's bucket denies, which is recorded", async () => {
    const { client, opened } = await start();
    const denied = { Effect: "Deny", Principal: "*", Action: "s3:GetObjectTagging", Resource: "arn:aws:s3:::photos/*" };
    await client.putBucketPolicy({ bucket: "photos", policy: policyOf(denied) }, as(alice));
    expect(await refusalsOf(opened.app, "copyObject", copy, aliceRoot)).toEqual([
      "ACCESS_DENIED",
      "s3:GetObjectTagging arn:aws:s3:::photos/tagged explicit-deny",
    ]);
    expect(await outcomeOf(opened.app, "copyObject", plain, aliceRoot)).toBe("answered");
  });

  test("is refused for tags that the policy of the source's access point denies", async () => {
    const point = `arn:aws:s3:us-east-1:${alice}:accesspoint/shots`;
    const denied = {
      Effect: "Deny",
      Principal: "*",
      Action: "s3:GetObjectTagging",
      Resource: `${point}/object/*`,
    };
    const setting = {
      [`shots-${alice}`]: { bucket: "photos", policy: { Version: "2012-10-17", Statement: [denied] } },
    };
    const harness = await start({ accessPoints: declaredAccessPoints(setting, { region: "us-east-1" }) });
    const { app } = harness.opened;
    const atPoint = { ...copy, copySource: `${point}/object/tagged` };
    expect(await outcomeOf(app, "copyObject", copy, aliceRoot)).toBe("answered");
    expect(await outcomeOf(app, "copyObject", atPoint, aliceRoot)).toBe("ACCESS_DENIED");
    expect(await outcomeOf(app, "copyObject", { ...atPoint, taggingDirective: "REPLACE" }, aliceRoot)).toBe("answered");
  });
});
