import { createHmac } from "node:crypto";

import { describe, expect, test } from "vitest";

import type { VersionTwoRule } from "../../../gateway/signature/version-two.ts";
import { reasonOf, refused } from "../support/refused.ts";
import type { ReceivedRequest } from "./signer.ts";
import { exampleKey, verifyExample } from "./signer.ts";

/** An hour after the instant at which the examples are verified. */
const expires = "1369357200";

const signatureOf = (stringToSign: string): string =>
  encodeURIComponent(createHmac("sha1", exampleKey.secretAccessKey).update(stringToSign).digest("base64"));

/** A link whose signature is of this text; `more` is what else its query has. */
const link = (stringToSign: string, more = "", request: Partial<ReceivedRequest> = {}): Partial<ReceivedRequest> => ({
  resource: "/photos/puppy%20dog.jpg",
  rawQuery: `AWSAccessKeyId=${exampleKey.accessKeyId}&Expires=${expires}&Signature=${signatureOf(stringToSign)}${more}`,
  ...request,
});

const plain = `GET\n\n\n${expires}\n/photos/puppy%20dog.jpg`;

/** The reason of the refusal; undefined if there is none. */
const outcomeOf = (verify: () => unknown): string | undefined => {
  try {
    verify();
    return undefined;
  } catch (thrown) {
    return reasonOf(thrown);
  }
};

describe("a presigned URL of version 2", () => {
  // what is signed, the request
  test.for<[string, Partial<ReceivedRequest>]>([
    ["a resource alone", link(plain)],
    [
      "parts of the resource, in their order and without their escapes",
      link(
        `${plain}?response-content-type=a/ü&versionId=null`,
        "&versionId=null&response-content-type=a%2F%C3%BC&x-id=GetObject",
      ),
    ],
    ["a part without a value", link(`${plain}?acl`, "&acl")],
    [
      "headers of the dialect, those in the query too",
      link(
        `PUT\nCGLTWqQbrE0tzJsbR+ncow==\ntext/plain\n${expires}\nx-amz-meta-a:1\nx-amz-meta-b:2\n/photos/puppy%20dog.jpg`,
        "&x-amz-meta-b=2&content-type=text%2Fplain",
        { method: "PUT", rawHeaders: ["X-Amz-Meta-A", "1", "Content-MD5", "CGLTWqQbrE0tzJsbR+ncow=="] },
      ),
    ],
    [
      "a bucket with a slash behind it",
      link(`GET\n\n\n${expires}\n/photos/`, "&prefix=a&list-type=2", { resource: "/photos" }),
    ],
  ])("names its caller when it signs %s", ([, request]) => {
    const verified = verifyExample(request);
    expect(verified.caller.accountId).toBe("123456789012");
    expect(verified.form).toBe("presigned");
    expect(verified.signature).toEqual({ signatureVersion: "AWS", authType: "REST-QUERY-STRING" });
  });

  // what is wrong, the request, the reason
  test.for<[string, Partial<ReceivedRequest>, string]>([
    ["of another API", { ...link(plain), resource: undefined }, "UNSUPPORTED_ALGORITHM"],
    [
      "without its expiry",
      { ...link(plain), rawQuery: "AWSAccessKeyId=AKIA&Signature=x" },
      "INCOMPLETE_SIGNATURE_QUERY",
    ],
    ["with two expiries", link(plain, `&Expires=${expires}`), "INCOMPLETE_SIGNATURE_QUERY"],
    [
      "with an expiry that is no number",
      { ...link(plain), rawQuery: "AWSAccessKeyId=AKIA&Signature=x&Expires=1h" },
      "INCOMPLETE_SIGNATURE_QUERY",
    ],
    [
      "of an unknown key",
      { ...link(plain), rawQuery: `AWSAccessKeyId=AKIANOBODY&Expires=${expires}&Signature=x` },
      "UNKNOWN_ACCESS_KEY",
    ],
    ["with a security token", link(plain, "&X-Amz-Security-Token=x"), "INVALID_SECURITY_TOKEN"],
    [
      "that has expired",
      {
        ...link(plain),
        rawQuery: `AWSAccessKeyId=${exampleKey.accessKeyId}&Expires=1369353599&Signature=x`,
      },
      "EXPIRED",
    ],
    ["of another method", link(plain, "", { method: "DELETE" }), "SIGNATURE_MISMATCH"],
    ["of another resource", link(plain, "", { resource: "/photos/kitten.jpg" }), "SIGNATURE_MISMATCH"],
    [
      "of a bucket that only the host names",
      link(plain, "", { resource: "/other/puppy%20dog.jpg" }),
      "SIGNATURE_MISMATCH",
    ],
    ["with a part of the resource more", link(plain, "&acl"), "SIGNATURE_MISMATCH"],
    ["with a parameter that no version 2 knows", link(plain, "&attributes"), "SIGNATURE_MISMATCH"],
    [
      "with a header of the dialect more",
      link(plain, "", { rawHeaders: ["x-amz-acl", "private"] }),
      "SIGNATURE_MISMATCH",
    ],
    ["with a header in the query more", link(plain, "&X-Amz-Acl=private"), "SIGNATURE_MISMATCH"],
    ["with a type of content more", link(plain, "", { rawHeaders: ["Content-Type", "a/b"] }), "SIGNATURE_MISMATCH"],
    [
      "with signed chunks",
      link(
        `PUT\n\n\n${expires}\nx-amz-content-sha256:STREAMING-AWS4-HMAC-SHA256-PAYLOAD\n/photos/puppy%20dog.jpg`,
        "",
        { method: "PUT", rawHeaders: ["x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"] },
      ),
      "INVALID_PAYLOAD_HASH",
    ],
  ])("%s is refused", ([, request, reason]) => {
    expect(() => verifyExample(request)).toThrow(refused(reason));
  });

  // the rule, seconds from now until it ends, the reason; undefined: it is accepted
  test.for<[VersionTwoRule | undefined, number, string | undefined]>([
    [undefined, 31_536_000, undefined],
    ["accept", 31_536_000, undefined],
    ["week", 604_800, undefined],
    ["week", 604_801, "MALFORMED_SIGNATURE_QUERY"],
    ["refuse", 60, "UNSUPPORTED_ALGORITHM"],
  ])("where the rule is %s and it ends in %d s", ([versionTwo, seconds, reason]) => {
    const until = `${1369353600 + seconds}`;
    const signature = signatureOf(`GET\n\n\n${until}\n/b`);
    const rawQuery = `AWSAccessKeyId=${exampleKey.accessKeyId}&Expires=${until}&Signature=${signature}`;
    expect(outcomeOf(() => verifyExample({ resource: "/b", rawQuery, versionTwo }))).toBe(reason);
  });

  test("holds to its last second", () => {
    const rawQuery = `AWSAccessKeyId=${exampleKey.accessKeyId}&Expires=1369353600&Signature=${signatureOf("GET\n\n\n1369353600\n/b")}`;
    expect(verifyExample({ resource: "/b", rawQuery }).caller.accountId).toBe("123456789012");
  });
});
