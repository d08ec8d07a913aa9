import { createHmac } from "node:crypto";

import { describe, expect, test } from "vitest";

import { signingKey } from "../../../gateway/signature/signing-key.ts";
import { amz } from "./brands.ts";
import { exampleKey } from "./signer.ts";

const scope = ["20130524", "us-east-1", "s3"] as const;

/** The signature that the platform's HMAC makes of a text. */
const sign = (text: string): string => {
  let key = Buffer.from(`AWS4${exampleKey.secretAccessKey}`);
  for (const part of [...scope, "aws4_request"]) key = createHmac("sha256", key).update(part).digest();
  return createHmac("sha256", key).update(text).digest("hex");
};

test("a key is that of its secret, day and service, whatever was used before", () => {
  const [date, region, service] = scope;
  const claim = { algorithm: amz.algorithm, date, region, service };
  const signature = sign("a line");
  const matches = (key = exampleKey, other: Partial<typeof claim> = {}): boolean =>
    signingKey(key, { ...claim, ...other }, amz).matches("a line", signature);
  expect([
    matches(),
    matches({ ...exampleKey, secretAccessKey: "another secret" }),
    matches(),
    matches(exampleKey, { date: "20130525" as typeof date }),
    matches(exampleKey, { service: "events" as typeof service }),
    matches(exampleKey, { region: "eu-west-1" as typeof region }),
    matches(),
  ]).toEqual([true, false, true, false, false, false, true]);
});

describe("the key of a credential scope", () => {
  const [date, region, service] = scope;
  const key = signingKey(exampleKey, { algorithm: amz.algorithm, date, region, service }, amz);

  test.each([
    ["nothing", ""],
    ["a line", "AWS4-HMAC-SHA256"],
    ["what fills a block with its padding", "a".repeat(55)],
    ["a whole block", "a".repeat(64)],
    ["many blocks", "Emma\n".repeat(1_000)],
    ["texts beyond Latin-1", "Žofie, 艾玛, 🎩"],
  ])("matches the signature of %s, and no other", (_what, text) => {
    const signature = sign(text);
    const changed = (signature.startsWith("0") ? "1" : "0") + signature.slice(1);
    expect(key.matches(text, signature)).toBe(true);
    expect([
      key.matches(text, changed),
      key.matches(`${text} `, signature),
      key.matches(text, signature.toUpperCase()),
      key.matches(text, signature.slice(0, 63)),
      key.matches(text, ""),
    ]).toEqual([false, false, false, false, false]);
  });
});
