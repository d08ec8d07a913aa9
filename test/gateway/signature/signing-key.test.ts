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
