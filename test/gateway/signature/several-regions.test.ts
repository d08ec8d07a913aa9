/**
 * Requests that are signed with ECDSA for a set of regions. The signer here shares only the key derivation, which a
 * published key pair checks.
 */
import { createECDH, createPrivateKey, sign } from "node:crypto";

import { describe, expect, test } from "vitest";

import { decodeBody } from "../../../gateway/signature/decode-body.ts";
import { deriveAsymmetric } from "../../../gateway/signature/signing-key.ts";
import type { SignedRequest } from "./verify-request.ts";
import { refused } from "../support/refused.ts";
import { amz, svc } from "./brands.ts";
import { emptyHash, exampleKey, exampleTime, hex, verifyExample } from "./signer.ts";

const publicPoint = (privateNumber: Buffer): Buffer => {
  const curve = createECDH("prime256v1");
  curve.setPrivateKey(privateNumber);
  return curve.getPublicKey();
};

const privateNumber = deriveAsymmetric(exampleKey.accessKeyId, exampleKey.secretAccessKey, amz);

const signText = (text: string): string => {
  const point = publicPoint(privateNumber);
  const [x, y, d] = [point.subarray(1, 33), point.subarray(33), privateNumber].map((part) =>
    part.toString("base64url"),
  );
  const key = createPrivateKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "", d: d ?? "" } });
  return sign("sha256", Buffer.from(text), { key, dsaEncoding: "der" }).toString("hex");
};

const scope = "20130524/s3/aws4_request";

const signed = (
  regions: string,
  payloadHash = emptyHash,
  more: Record<string, string> = {},
): Partial<SignedRequest> & { signature: string } => {
  const headers: [string, string][] = Object.entries({
    host: "h",
    "x-amz-content-sha256": payloadHash,
    "x-amz-date": exampleTime,
    "x-amz-region-set": regions,
    ...more,
  }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const names = headers.map(([name]) => name).join(";");
  const canonical = [
    "GET",
    "/test.txt",
    "",
    headers.map(([name, value]) => `${name}:${value}\n`).join(""),
    names,
    payloadHash,
  ].join("\n");
  const signature = signText(["AWS4-ECDSA-P256-SHA256", exampleTime, scope, hex(canonical)].join("\n"));
  const authorization = `AWS4-ECDSA-P256-SHA256 Credential=${exampleKey.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { rawHeaders: [...headers.flat(), "Authorization", authorization], signature };
};

const chunkText = (previous: string, chunk: string) =>
  ["AWS4-ECDSA-P256-SHA256-PAYLOAD", exampleTime, scope, previous, emptyHash, hex(chunk)].join("\n");

describe("the key pair of an access key", () => {
  test("is the published one", () => {
    const derived = deriveAsymmetric("AKISORANDOMAASORANDOM", "q+jcrXGc+0zWN6uzclKVhvMmUsIfRPa4rlRandom", amz);
    expect(derived.toString("hex")).toBe("7fd3bd010c0d9c292141c2b77bfbde1042c92e6836fff749d1269ec890fca1bd");
  });

  test("differs between dialects", () => {
    expect(
      deriveAsymmetric("AKIAIOSFODNN7EXAMPLE", "secret", amz).equals(
        deriveAsymmetric("AKIAIOSFODNN7EXAMPLE", "secret", svc),
      ),
    ).toBe(false);
  });
});

describe("a request for several regions", () => {
  test.for(["us-east-1", "*", "eu-west-1,us-east-1", "us-*", "eu-*, us-east-1", "us-*s*-1"])(
    "is accepted for %s",
    (regions) => {
      expect(verifyExample(signed(regions))).toMatchObject({ form: "header", caller: { accountId: "123456789012" } });
    },
  );

  test.for(["eu-west-1", "eu-*", "", "us-east-11", "us-*x*-1", "us-east-?"])('is refused for "%s"', (regions) => {
    expect(() => verifyExample(signed(regions))).toThrow(
      refused("WRONG_SCOPE", { part: "region", given: regions, expected: "us-east-1" }),
    );
  });

  test("is refused when it is changed", () => {
    expect(() => verifyExample({ ...signed("*"), rawPath: "/other.txt" })).toThrow(refused("SIGNATURE_MISMATCH"));
  });

  test("is refused when its signature is none", () => {
    const { rawHeaders = [] } = signed("*");
    const spoiled = rawHeaders.map((text) => text.replace(/Signature=.*/, "Signature=nonsense"));
    expect(() => verifyExample({ rawHeaders: spoiled })).toThrow(refused("SIGNATURE_MISMATCH"));
  });

  test("may come in chunks, whose signatures are padded", async () => {
    const request = signed("*", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", { "x-amz-decoded-content-length": "5" });
    const { payload } = verifyExample(request);
    const first = signText(chunkText(request.signature, "hello"));
    const last = signText(chunkText(first, ""));
    const wire = Buffer.from(
      `5;chunk-signature=${first.padEnd(144, "*")}\r\nhello\r\n0;chunk-signature=${last.padEnd(144, "*")}\r\n\r\n`,
    );
    const source = (async function* () {
      yield wire;
    })();
    expect(Buffer.concat(await Array.fromAsync(decodeBody(payload, source))).toString()).toBe("hello");
  });
});
