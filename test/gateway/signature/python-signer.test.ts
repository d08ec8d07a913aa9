/** The signer of the Python tests, a second implementation in another language, against our verification. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { decodeBody } from "../../../gateway/signature/decode-body.ts";
import { refused } from "../support/refused.ts";
import { amz, svc } from "./brands.ts";
import type { ReceivedRequest } from "./signer.ts";
import { exampleKey, verifyExample } from "./signer.ts";

interface PythonRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Base64 of the chunked body. */
  readonly wire?: string;
}

const script = join(import.meta.dirname, "../../polyglot/svc_signer.py");
const hasPython = spawnSync("python3", ["--version"]).status === 0;

const signInPython = (request: object): PythonRequest => {
  const input = JSON.stringify({
    access_key_id: exampleKey.accessKeyId,
    secret_access_key: exampleKey.secretAccessKey,
    region: "us-east-1",
    service: "s3",
    host: "bucket.localhost:8080",
    when: "2013-05-24T00:00:00+00:00",
    ...request,
  });
  const { status, stdout, stderr } = spawnSync("python3", [script], { input, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as PythonRequest;
};

const asReceived = (request: PythonRequest): Partial<ReceivedRequest> => ({
  method: request.method,
  rawPath: request.path,
  rawQuery: request.query,
  rawHeaders: Object.entries(request.headers).flat(),
});

// The machine may have no python3, which nothing but this oracle needs.
describe.skipIf(!hasPython).for([
  ["svc", svc],
  ["amz", amz],
] as const)("what Python signs in %s", ([dialect, brand]) => {
  test("by header is accepted", () => {
    const signed = signInPython({
      form: "header",
      dialect,
      method: "PUT",
      path: "/ü b/c+d=e&f/(1)*~",
      query: [
        ["tagging", ""],
        ["versionId", "a b+c"],
        ["a", "2"],
        ["a", "1"],
      ],
      headers: { [`${brand.headerPrefix}meta-note`]: "two   spaces", Range: "bytes=0-9" },
      body: "the body",
    });
    expect(verifyExample({ ...asReceived(signed), brand })).toMatchObject({
      form: "header",
      payload: { kind: "exact" },
    });
  });

  test("by header for an API with paths encoded twice is accepted", () => {
    const signed = signInPython({
      form: "header",
      dialect,
      method: "POST",
      path: "/tags/arn:svc:x/y z",
      body: "{}",
      encodes_twice: true,
      service: "events",
    });
    const verified = verifyExample({
      ...asReceived(signed),
      brand,
      signingNames: ["events"],
      doubleEncodePath: true,
      body: Buffer.from("{}"),
    });
    expect(verified).toMatchObject({ form: "header", payload: { kind: "plain" } });
  });

  test("by query is accepted", () => {
    const signed = signInPython({
      form: "presigned",
      dialect,
      method: "GET",
      path: "/key with ü",
      query: [["response-content-type", "text/plain; charset=utf-8"]],
      expires: 604_800,
    });
    expect(verifyExample({ ...asReceived(signed), brand }).form).toBe("presigned");
  });

  test("in chunks is accepted", async () => {
    const trailers = { [`${brand.headerPrefix}checksum-crc32c`]: "sOO8/Q==" };
    const signed = signInPython({
      form: "chunks",
      dialect,
      method: "PUT",
      path: "/key",
      chunks: ["a".repeat(8192), "end"],
      trailers,
    });
    const { payload } = verifyExample({ ...asReceived(signed), brand });
    const wire = (async function* () {
      yield Buffer.from(signed.wire ?? "", "base64");
    })();
    const body = decodeBody(payload, wire);
    expect(Buffer.concat(await Array.fromAsync(body)).toString()).toBe(`${"a".repeat(8192)}end`);
    expect(Object.fromEntries(body.trailers)).toEqual(trailers);
  });

  test("is refused with another secret", () => {
    const signed = signInPython({
      form: "header",
      dialect,
      method: "GET",
      path: "/",
      secret_access_key: "another secret",
    });
    expect(() => verifyExample({ ...asReceived(signed), brand })).toThrow(refused("SIGNATURE_MISMATCH"));
  });
});
