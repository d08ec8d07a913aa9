import { createHmac } from "node:crypto";

import { describe, expect, test } from "vitest";

import { svcDialect } from "../../../gateway/dialects/svc.ts";
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

describe("a header signed by version 2", () => {
  const date = "Fri, 24 May 2013 00:00:00 GMT";
  const byHeader = (
    stringToSign: string,
    rawHeaders: readonly string[],
    request: Partial<ReceivedRequest> = {},
  ): Partial<ReceivedRequest> => {
    const digest = createHmac("sha1", exampleKey.secretAccessKey).update(stringToSign, "latin1").digest("base64");
    return {
      resource: "/photos/puppy%20dog.jpg",
      versionTwo: "headers",
      rawHeaders: ["Authorization", `AWS ${exampleKey.accessKeyId}:${digest}`, ...rawHeaders],
      ...request,
    };
  };
  const dated = `GET\n\n\n${date}\n/photos/puppy%20dog.jpg`;
  const simple = byHeader(dated, ["Date", date]);

  test.for<[what: string, request: Partial<ReceivedRequest>]>([
    ["the date and the resource", simple],
    [
      "a time of its own, whatever the date is",
      byHeader("GET\n\n\n\nx-amz-date:Fri, 24 May 2013 00:10:00 +0000\n/photos/puppy%20dog.jpg", [
        "Date",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "x-amz-date",
        "Fri, 24 May 2013 00:10:00 +0000",
      ]),
    ],
    [
      "a time as version 4 writes it",
      byHeader("GET\n\n\n\nx-amz-date:20130524T000000Z\n/photos/puppy%20dog.jpg", ["X-Amz-Date", "20130524T000000Z"]),
    ],
    [
      "the type and digest of a body, and headers of the dialect in their order",
      byHeader(
        `PUT\nCGLTWqQbrE0tzJsbR+ncow==\ntext/plain\n${date}\nx-amz-acl:private\nx-amz-meta-b:1,2\n/photos/puppy%20dog.jpg`,
        [
          "X-Amz-Meta-B",
          "1",
          "Content-Type",
          "text/plain",
          "Date",
          date,
          "x-amz-meta-b",
          "2",
          "Content-MD5",
          "CGLTWqQbrE0tzJsbR+ncow==",
          "x-amz-acl",
          "private",
        ],
        { method: "PUT" },
      ),
    ],
    [
      "a subresource, beside what does not change the operation",
      byHeader(`GET\n\n\n${date}\n/photos?acl`, ["Date", date], { resource: "/photos", rawQuery: "acl&prefix=a" }),
    ],
  ])("names its caller when it signs %s", ([, request]) => {
    const verified = verifyExample(request);
    expect(verified.caller.accountId).toBe("123456789012");
    expect(verified.form).toBe("header");
    expect(verified.signature).toMatchObject({ signatureVersion: "AWS", authType: "REST-HEADER" });
  });

  test("says how old it is", () => {
    const at = "Thu, 23 May 2013 23:59:00 GMT";
    const { signature } = verifyExample(byHeader(dated.replace(date, at), ["Date", at]));
    expect(signature?.signatureAgeMs).toBe(60_000);
  });

  const authorization = (value: string): Partial<ReceivedRequest> => ({
    ...simple,
    rawHeaders: ["Authorization", value, "Date", date],
  });
  const late = "Fri, 24 May 2013 00:15:01 GMT";

  // In the order of the checks, each with what the later ones refuse as well.
  test.for<[what: string, request: Partial<ReceivedRequest>, reason: string]>([
    ["where nothing is set", { ...simple, versionTwo: undefined }, "SUPERSEDED_SIGNATURE"],
    ["where only links and forms are accepted", { ...simple, versionTwo: "accept" }, "SUPERSEDED_SIGNATURE"],
    ["where only links for a week are accepted", { ...simple, versionTwo: "week" }, "SUPERSEDED_SIGNATURE"],
    ["where none is accepted", { ...simple, versionTwo: "refuse" }, "SUPERSEDED_SIGNATURE"],
    ["of another API", { ...simple, resource: undefined }, "SUPERSEDED_SIGNATURE"],
    ["without a signature", authorization("AWS AKIA"), "MALFORMED_AUTHORIZATION"],
    ["without a key", authorization("AWS :c2ln"), "MALFORMED_AUTHORIZATION"],
    ["with what is no signature", authorization("AWS AKIA:s i g"), "MALFORMED_AUTHORIZATION"],
    [
      "given twice",
      { ...simple, rawHeaders: [...(simple.rawHeaders ?? []), "Authorization", "AWS AKIA:c2ln"] },
      "MALFORMED_AUTHORIZATION",
    ],
    [
      "beside a link of version 4",
      { ...authorization("AWS AKIA:c2ln"), rawQuery: "X-Amz-Signature=x" },
      "SEVERAL_SIGNATURES",
    ],
    [
      "beside a link of version 2",
      { ...authorization("AWS AKIA:c2ln"), rawQuery: "AWSAccessKeyId=AKIA&Signature=x&Expires=1" },
      "SEVERAL_SIGNATURES",
    ],
    ["without a time", { ...simple, rawHeaders: ["Authorization", "AWS AKIA:c2ln"] }, "MISSING_DATE"],
    [
      "with a time of no zone",
      { ...simple, rawHeaders: ["Authorization", "AWS AKIA:c2ln", "Date", "Fri, 24 May 2013 00:00:00"] },
      "MISSING_DATE",
    ],
    [
      "of an unknown key",
      { ...simple, rawHeaders: ["Authorization", "AWS AKIANOBODY:c2ln", "Date", late] },
      "UNKNOWN_ACCESS_KEY",
    ],
    [
      "with the token of no session",
      byHeader(`GET\n\n\n${late}\nx-amz-security-token:x\n/photos/puppy%20dog.jpg`, [
        "Date",
        late,
        "x-amz-security-token",
        "x",
      ]),
      "INVALID_SECURITY_TOKEN",
    ],
    ["a second too late", byHeader(dated, ["Date", late]), "CLOCK_SKEW"],
    ["a second too early", byHeader(dated, ["Date", "Thu, 23 May 2013 23:44:59 GMT"]), "CLOCK_SKEW"],
    ["of another method", { ...simple, method: "DELETE" }, "SIGNATURE_MISMATCH"],
    ["of another resource", { ...simple, resource: "/photos/kitten.jpg" }, "SIGNATURE_MISMATCH"],
    ["of another date", byHeader(dated, ["Date", "Fri, 24 May 2013 00:00:01 GMT"]), "SIGNATURE_MISMATCH"],
    [
      "with a header of the dialect more",
      byHeader(dated, ["Date", date, "x-amz-acl", "private"]),
      "SIGNATURE_MISMATCH",
    ],
    ["with a type of content more", byHeader(dated, ["Date", date, "Content-Type", "a/b"]), "SIGNATURE_MISMATCH"],
    ["with a subresource more", { ...simple, rawQuery: "acl" }, "SIGNATURE_MISMATCH"],
    ["with a parameter that no version 2 knows", { ...simple, rawQuery: "attributes" }, "SIGNATURE_MISMATCH"],
    ["with a header in its query", { ...simple, rawQuery: "x-amz-acl=private" }, "SIGNATURE_MISMATCH"],
    [
      "with signed chunks",
      byHeader(
        `PUT\n\n\n${date}\nx-amz-content-sha256:STREAMING-AWS4-HMAC-SHA256-PAYLOAD\n/photos/puppy%20dog.jpg`,
        ["Date", date, "x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"],
        { method: "PUT" },
      ),
      "INVALID_PAYLOAD_HASH",
    ],
  ])("%s is refused", ([, request, reason]) => {
    expect(() => verifyExample(request)).toThrow(refused(reason));
  });

  test("is of the documented dialect where its scheme is that one's", () => {
    const brand = svcDialect("svc").signature;
    const request = (scheme: string): Partial<ReceivedRequest> => ({
      ...simple,
      brand,
      rawHeaders: (simple.rawHeaders ?? []).map((value) => value.replace(/^AWS /, scheme)),
    });
    expect(verifyExample(request("SVC ")).caller.accountId).toBe("123456789012");
    expect(() => verifyExample(request("AWS "))).toThrow(refused("UNSUPPORTED_ALGORITHM"));
  });
});
