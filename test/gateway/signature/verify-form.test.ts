import { createHmac } from "node:crypto";

import { describe, expect, test } from "vitest";

import { verifyForm } from "../../../gateway/signature/verify-form.ts";
import type { SignatureBrand } from "../../../gateway/signature/brand.ts";
import type { VersionTwoRule } from "../../../gateway/signature/version-two.ts";
import { fixedAccessKeys } from "../../../services/kit/identity/access-keys.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { refused } from "../support/refused.ts";
import { amz, svc } from "./brands.ts";
import { exampleKey, exampleMs, signText } from "./signer.ts";

const conditions = [
  { bucket: "photos" },
  ["starts-with", "$key", "user/alice/"],
  ["eq", "$Content-Type", "image/png"],
  ["content-length-range", 1, 1024],
  ["starts-with", "$x-amz-credential", ""],
  { "x-amz-algorithm": "AWS4-HMAC-SHA256" },
  { "x-amz-date": "20130524T000000Z" },
];

const policyOf = (change: object = {}): string =>
  encode({ expiration: "2013-05-24T01:00:00.000Z", conditions, ...change });

const encode = (document: unknown): string => Buffer.from(JSON.stringify(document)).toString("base64");

const formOf = (
  policy: string,
  change: Record<string, string> = {},
  brand: SignatureBrand = amz,
): Map<string, string> => {
  const fields = {
    bucket: "photos",
    key: "user/alice/cat.png",
    "content-type": "image/png",
    policy,
    [`${brand.headerPrefix}algorithm`]: brand.algorithm,
    [`${brand.headerPrefix}credential`]: `${exampleKey.accessKeyId}/20130524/us-east-1/s3/${brand.terminator}`,
    [`${brand.headerPrefix}date`]: "20130524T000000Z",
    [`${brand.headerPrefix}signature`]: signText(policy, brand),
    ...change,
  };
  return new Map(Object.entries(fields));
};

const verify = (
  fields: ReadonlyMap<string, string>,
  change: { brand?: SignatureBrand; nowMs?: number; versionTwo?: VersionTwoRule } = {},
) =>
  verifyForm({
    fields,
    brand: change.brand ?? amz,
    accessKeys: fixedAccessKeys([exampleKey]),
    clock: new FakeClock(change.nowMs ?? exampleMs),
    signingNames: ["s3"],
    region: "us-east-1",
    versionTwo: change.versionTwo,
  });

const without = (name: string): Map<string, string> => {
  const fields = formOf(policyOf());
  fields.delete(name);
  return fields;
};

describe("a form", () => {
  test("may upload what its policy allows", () => {
    expect(verify(formOf(policyOf()))).toMatchObject({
      caller: { accountId: "123456789012" },
      signature: { signatureVersion: "AWS4-HMAC-SHA256", authType: "POST" },
      bytesMin: 1,
      bytesMax: 1024,
    });
  });

  test("may be sent until its policy expires", () => {
    const expiration = "2013-05-24T00:00:00.000Z";
    expect(verify(formOf(policyOf({ expiration })), { nowMs: 1_369_353_600_000 }).bytesMax).toBe(1024);
    const late = () => verify(formOf(policyOf({ expiration })), { nowMs: 1_369_353_600_001 });
    expect(late).toThrow(refused("POLICY_EXPIRED"));
  });

  test("may be signed by version 2, as boto3 does", () => {
    const policy = policyOf({ conditions: [{ bucket: "photos" }, ["starts-with", "$key", "user/"]] });
    const signature = createHmac("sha1", exampleKey.secretAccessKey).update(policy).digest("base64");
    const fields = { bucket: "photos", key: "user/a", policy, awsaccesskeyid: exampleKey.accessKeyId, signature };
    expect(verify(new Map(Object.entries(fields)))).toMatchObject({
      caller: { accountId: "123456789012" },
      signature: { signatureVersion: "AWS", authType: "POST" },
    });
    expect(verify(new Map(Object.entries(fields)), { versionTwo: "week" }).bytesMin).toBe(0);
    const refuse = () => verify(new Map(Object.entries(fields)), { versionTwo: "refuse" });
    expect(refuse).toThrow(refused("UNSUPPORTED_ALGORITHM"));
    const forged = new Map(Object.entries({ ...fields, signature: "AAAA" }));
    expect(() => verify(forged)).toThrow(refused("SIGNATURE_MISMATCH"));
    const extra = new Map(Object.entries({ ...fields, acl: "private" }));
    expect(() => verify(extra)).toThrow(refused("POLICY_VIOLATED"));
    const unsigned = new Map(Object.entries({ key: "user/a", signature }));
    expect(() => verify(unsigned)).toThrow(refused("MALFORMED_FORM_SIGNATURE"));
  });

  // the sizes that its conditions name, those it may have
  test.each([
    [[[0, 10]], [0, 10]],
    [[[5, 5]], [5, 5]],
    [
      [
        [1, 100],
        [0, 50],
        [3, 70],
      ],
      [3, 50],
    ],
    [[], [0, Number.MAX_SAFE_INTEGER]],
  ])("of sizes %j may be of %j bytes", (ranges, [bytesMin, bytesMax]) => {
    const others = conditions.filter(
      (condition) => !Array.isArray(condition) || condition[0] !== "content-length-range",
    );
    const sizes = ranges.map(([least, most]) => ["content-length-range", least, most]);
    expect(verify(formOf(policyOf({ conditions: [...others, ...sizes] })))).toMatchObject({ bytesMin, bytesMax });
  });

  test("may carry fields that are to be ignored", () => {
    expect(verify(formOf(policyOf(), { "x-ignore-button": "Upload" })).bytesMax).toBe(1024);
  });

  test("may be signed with a temporary key, whose token is among its fields", () => {
    const policy = policyOf({
      conditions: [
        ["starts-with", "$bucket", ""],
        ["starts-with", "$key", ""],
        ["starts-with", "$content-type", ""],
        ...["algorithm", "credential", "date", "security-token"].map((name) => ["starts-with", `$x-amz-${name}`, ""]),
      ],
    });
    const accessKeys = {
      find: () => undefined,
      findTemporary: (_id: string, token: string) => (token === "token" ? exampleKey : undefined),
    };
    const verifyWith = (token: string) =>
      verifyForm({
        fields: formOf(policy, { "x-amz-security-token": token }),
        brand: amz,
        accessKeys,
        clock: new FakeClock(exampleMs),
        signingNames: ["s3"],
        region: "us-east-1",
      }).caller.accountId;
    expect(verifyWith("token")).toBe("123456789012");
    expect(() => verifyWith("another")).toThrow(refused("UNKNOWN_ACCESS_KEY"));
  });

  test("may be signed in the documented dialect", () => {
    const policy = policyOf({
      conditions: [
        ["starts-with", "$bucket", ""],
        ["starts-with", "$key", ""],
        ["starts-with", "$content-type", ""],
        ...["algorithm", "credential", "date"].map((name) => ["starts-with", `$x-svc-${name}`, ""]),
      ],
    });
    expect(verify(formOf(policy, {}, svc), { brand: svc }).caller.accountId).toBe("123456789012");
  });

  const ofImages = policyOf({
    conditions: [
      ...conditions.filter((condition) => !Array.isArray(condition) || condition[1] !== "$Content-Type"),
      ["starts-with", "$Content-Type", "image/"],
    ],
  });

  test.each(["image/png", "image/png, image/gif", "image/png,image/gif"])(
    "of images may have the content type %s",
    (type) => {
      expect(verify(formOf(ofImages, { "content-type": type })).bytesMax).toBe(1024);
    },
  );

  test.each(["image/png, text/html", "image/png,", "text/html, image/png"])(
    "of images may not have the content type %s",
    (type) => {
      expect(() => verify(formOf(ofImages, { "content-type": type }))).toThrow(refused("POLICY_VIOLATED"));
    },
  );

  test("is nobody's without a policy", () => {
    expect(verify(new Map([["key", "cat.png"]])).caller.isAnonymous).toBe(true);
  });

  test("has the published example's signature", () => {
    const policy =
      "eyAiZXhwaXJhdGlvbiI6ICIyMDE1LTEyLTMwVDEyOjAwOjAwLjAwMFoiLA0KICAiY29uZGl0aW9ucyI6IFsNCiAgICB7ImJ1Y2tldCI6ICJzaWd2NGV4YW1wbGVidWNrZXQifSwNCiAgICBbInN0YXJ0cy13aXRoIiwgIiRrZXkiLCAidXNlci91c2VyMS8iXSwNCiAgICB7ImFjbCI6ICJwdWJsaWMtcmVhZCJ9LA0KICAgIHsic3VjY2Vzc19hY3Rpb25fcmVkaXJlY3QiOiAiaHR0cDovL3NpZ3Y0ZXhhbXBsZWJ1Y2tldC5zMy5hbWF6b25hd3MuY29tL3N1Y2Nlc3NmdWxfdXBsb2FkLmh0bWwifSwNCiAgICBbInN0YXJ0cy13aXRoIiwgIiRDb250ZW50LVR5cGUiLCAiaW1hZ2UvIl0sDQogICAgeyJ4LWFtei1tZXRhLXV1aWQiOiAiMTQzNjUxMjM2NTEyNzQifSwNCiAgICB7IngtYW16LXNlcnZlci1zaWRlLWVuY3J5cHRpb24iOiAiQUVTMjU2In0sDQogICAgWyJzdGFydHMtd2l0aCIsICIkeC1hbXotbWV0YS10YWciLCAiIl0sDQoNCiAgICB7IngtYW16LWNyZWRlbnRpYWwiOiAiQUtJQUlPU0ZPRE5ON0VYQU1QTEUvMjAxNTEyMjkvdXMtZWFzdC0xL3MzL2F3czRfcmVxdWVzdCJ9LA0KICAgIHsieC1hbXotYWxnb3JpdGhtIjogIkFXUzQtSE1BQy1TSEEyNTYifSwNCiAgICB7IngtYW16LWRhdGUiOiAiMjAxNTEyMjlUMDAwMDAwWiIgfQ0KICBdDQp9";
    const fields = new Map([
      ["bucket", "sigv4examplebucket"],
      ["key", "user/user1/cat.jpg"],
      ["acl", "public-read"],
      ["success_action_redirect", "http://sigv4examplebucket.s3.amazonaws.com/successful_upload.html"],
      ["content-type", "image/jpeg"],
      ["x-amz-meta-uuid", "14365123651274"],
      ["x-amz-server-side-encryption", "AES256"],
      ["x-amz-credential", "AKIAIOSFODNN7EXAMPLE/20151229/us-east-1/s3/aws4_request"],
      ["x-amz-algorithm", "AWS4-HMAC-SHA256"],
      ["x-amz-date", "20151229T000000Z"],
      ["x-amz-meta-tag", ""],
      ["policy", policy],
      ["x-amz-signature", "8afdbf4008c03f22c2cd3cdb72e4afbb1f6a588f3255ac628749a66d7f09699e"],
    ]);
    expect(verify(fields, { nowMs: Date.UTC(2015, 11, 29) }).caller.accountId).toBe("123456789012");
  });

  // what is wrong, the fields, reason, metadata
  test.for<[string, Map<string, string>, string, object]>([
    [
      "a signature but no policy",
      without("policy"),
      "MALFORMED_FORM_SIGNATURE",
      { problem: "It must contain a field named 'policy' before the file." },
    ],
    [
      "no algorithm",
      without("x-amz-algorithm"),
      "MALFORMED_FORM_SIGNATURE",
      { problem: "It must contain a field named 'x-amz-algorithm' before the file." },
    ],
    ["another algorithm", formOf(policyOf(), { "x-amz-algorithm": "AWS4-HMAC-SHA1" }), "UNSUPPORTED_ALGORITHM", {}],
    [
      "a short credential",
      formOf(policyOf(), { "x-amz-credential": "AKIAIOSFODNN7EXAMPLE" }),
      "MALFORMED_FORM_SIGNATURE",
      {},
    ],
    ["no date", without("x-amz-date"), "MALFORMED_FORM_SIGNATURE", {}],
    [
      "another date than the credential's",
      formOf(policyOf(), { "x-amz-date": "20130525T000000Z" }),
      "WRONG_SCOPE",
      { part: "date" },
    ],
    ["no signature", without("x-amz-signature"), "MALFORMED_FORM_SIGNATURE", {}],
    [
      "another region",
      formOf(policyOf(), { "x-amz-credential": "AKIAIOSFODNN7EXAMPLE/20130524/eu-west-1/s3/aws4_request" }),
      "WRONG_SCOPE",
      { part: "region" },
    ],
    [
      "an unknown key",
      formOf(policyOf(), { "x-amz-credential": "AKIANOBODY/20130524/us-east-1/s3/aws4_request" }),
      "UNKNOWN_ACCESS_KEY",
      {},
    ],
    [
      "a policy that was changed",
      formOf(policyOf(), { policy: policyOf({ conditions: [] }) }),
      "SIGNATURE_MISMATCH",
      {},
    ],
    ["a policy that is not JSON", formOf("e30x"), "MALFORMED_POLICY", { problem: "It is not JSON in base64." }],
    ["a policy that is a list", formOf(encode([])), "MALFORMED_POLICY", { problem: "It is not a JSON object." }],
    ["a policy without expiration", formOf(policyOf({ expiration: undefined })), "MALFORMED_POLICY", {}],
    ["an expiration without a zone", formOf(policyOf({ expiration: "2013-05-24T01:00:00" })), "MALFORMED_POLICY", {}],
    [
      "conditions that are no list",
      formOf(policyOf({ conditions: {} })),
      "MALFORMED_POLICY",
      { problem: "Its conditions are not a list." },
    ],
    ["a condition of two parts", formOf(policyOf({ conditions: [["eq", "$key"]] })), "MALFORMED_POLICY", {}],
    [
      "a condition of another operator",
      formOf(policyOf({ conditions: [["like", "$key", "x"]] })),
      "MALFORMED_POLICY",
      {},
    ],
    ["a condition on no field", formOf(policyOf({ conditions: [["eq", "key", "x"]] })), "MALFORMED_POLICY", {}],
    ["a condition of a number", formOf(policyOf({ conditions: [{ key: 1 }] })), "MALFORMED_POLICY", {}],
    [
      "a size that is none",
      formOf(policyOf({ conditions: [["content-length-range", "a", 1]] })),
      "MALFORMED_POLICY",
      {},
    ],
    [
      "another bucket",
      formOf(policyOf(), { bucket: "other" }),
      "POLICY_VIOLATED",
      { problem: 'Policy Condition failed: ["eq", "$bucket", "photos"]' },
    ],
    [
      "a key outside the prefix",
      formOf(policyOf(), { key: "user/bob/cat.png" }),
      "POLICY_VIOLATED",
      { problem: 'Policy Condition failed: ["starts-with", "$key", "user/alice/"]' },
    ],
    ["a field that must be there", without("content-type"), "POLICY_VIOLATED", {}],
    [
      "a field that no condition names",
      formOf(policyOf(), { acl: "public-read" }),
      "POLICY_VIOLATED",
      { problem: "Extra input fields: acl" },
    ],
  ])("with %s is refused", ([, fields, reason, metadata]) => {
    expect(() => verify(fields)).toThrow(refused(reason, metadata));
  });
});
