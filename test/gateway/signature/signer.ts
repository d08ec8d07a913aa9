import { createHash, createHmac } from "node:crypto";

import { parseQuery } from "../../../gateway/http/query.ts";
import type { SignatureBrand } from "../../../gateway/signature/brand.ts";
import type { VerifiedRequest } from "../../../gateway/signature/verify.ts";
import { fixedAccessKeys } from "../../../services/kit/identity/access-keys.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { amz } from "./brands.ts";
import type { SignedRequest } from "./verify-request.ts";
import { verifyRequest } from "./verify-request.ts";

/** The key of the published examples. */
export const exampleKey = {
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  accountId: "123456789012",
  policies: [],
};

/** The instant of the published examples, 2013-05-24T00:00:00Z. */
export const exampleMs = Date.UTC(2013, 4, 24);
export const exampleTime = "20130524T000000Z";
export const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** A request as it is verified, with its query as it was sent. */
export interface ReceivedRequest extends Omit<SignedRequest, "query"> {
  readonly rawQuery: string;
}

/** Verifies an object storage request at the published instant; a part that is given replaces the default. */
export const verifyExample = ({ rawQuery = "", ...request }: Partial<ReceivedRequest>): VerifiedRequest =>
  verifyRequest({
    method: "GET",
    rawPath: "/test.txt",
    query: parseQuery(rawQuery),
    rawHeaders: [],
    brand: amz,
    accessKeys: fixedAccessKeys([exampleKey]),
    clock: new FakeClock(exampleMs),
    signingNames: ["s3"],
    region: "us-east-1",
    doubleEncodePath: false,
    ...request,
  });

export const hex = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

export const signText = (text: string, brand: SignatureBrand = amz): string => {
  let key = Buffer.from(brand.keySeed + exampleKey.secretAccessKey);
  for (const part of ["20130524", "us-east-1", "s3", brand.terminator])
    key = createHmac("sha256", key).update(part).digest();
  return createHmac("sha256", key).update(text).digest("hex");
};

/** What a test signs. Path and query are in their canonical spelling already; all headers are signed. */
export interface Signable {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payloadHash: string;
  readonly brand?: SignatureBrand;
}

/** The signature of a request at the published instant, and the headers' names as they are signed. */
export const signature = (request: Signable): { signature: string; names: string; scope: string } => {
  const brand = request.brand ?? amz;
  const headers = Object.entries(request.headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const names = headers.map(([name]) => name).join(";");
  const lines = headers.map(([name, value]) => `${name}:${value}\n`).join("");
  const canonical = [request.method, request.path, request.query, lines, names, request.payloadHash].join("\n");
  const scope = `20130524/us-east-1/s3/${brand.terminator}`;
  return { signature: signText([brand.algorithm, exampleTime, scope, hex(canonical)].join("\n"), brand), names, scope };
};

/** A request with a signed header, as `verifyExample` takes it. */
export const signedByHeader = (
  request: Partial<Signable> & { unsigned?: readonly string[] } = {},
): Partial<ReceivedRequest> & { rawHeaders: string[] } => {
  const brand = request.brand ?? amz;
  const payloadHash = request.payloadHash ?? emptyHash;
  const headers = {
    host: "examplebucket.s3.amazonaws.com",
    [`${brand.headerPrefix}content-sha256`]: payloadHash,
    [`${brand.headerPrefix}date`]: exampleTime,
    ...request.headers,
  };
  const { method = "GET", path = "/test.txt", query = "" } = request;
  const made = signature({ method, path, query, headers, payloadHash, brand });
  const credential = `${exampleKey.accessKeyId}/${made.scope}`;
  const authorization = `${brand.algorithm} Credential=${credential},SignedHeaders=${made.names},Signature=${made.signature}`;
  return {
    method,
    rawPath: path,
    rawQuery: query,
    brand,
    rawHeaders: [...Object.entries(headers).flat(), "Authorization", authorization, ...(request.unsigned ?? [])],
  };
};

/** A request with a presigned query, as `verifyExample` takes it. */
export const presigned = (
  parameters: Readonly<Record<string, string>> = {},
  brand: SignatureBrand = amz,
): Partial<ReceivedRequest> & { rawQuery: string } => {
  const all = {
    [`${brand.queryPrefix}Algorithm`]: brand.algorithm,
    [`${brand.queryPrefix}Credential`]: `${exampleKey.accessKeyId}/20130524/us-east-1/s3/${brand.terminator}`,
    [`${brand.queryPrefix}Date`]: exampleTime,
    [`${brand.queryPrefix}Expires`]: "86400",
    [`${brand.queryPrefix}SignedHeaders`]: "host",
    ...parameters,
  };
  const query = Object.entries(all)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .toSorted()
    .join("&");
  const headers = { host: "examplebucket.s3.amazonaws.com" };
  const made = signature({ method: "GET", path: "/test.txt", query, headers, payloadHash: "UNSIGNED-PAYLOAD", brand });
  return {
    brand,
    rawQuery: `${query}&${brand.queryPrefix}Signature=${made.signature}`,
    rawHeaders: ["Host", "examplebucket.s3.amazonaws.com"],
  };
};

/** A request whose body comes in signed chunks, and that body. */
export const signedChunks = (
  chunks: readonly Uint8Array[],
  options: { brand?: SignatureBrand; trailers?: Readonly<Record<string, string>> } = {},
): { request: Partial<ReceivedRequest>; wire: Buffer } => {
  const { brand = amz, trailers } = options;
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const request = signedByHeader({
    method: "PUT",
    brand,
    payloadHash: `${brand.streamingPrefix}HMAC-SHA256-PAYLOAD${trailers === undefined ? "" : "-TRAILER"}`,
    headers: {
      [`${brand.headerPrefix}decoded-content-length`]: String(length),
      ...(trailers === undefined ? {} : { [`${brand.headerPrefix}trailer`]: Object.keys(trailers).join(",") }),
    },
  });
  let previous = /Signature=(.*)$/.exec(request.rawHeaders.at(-1) ?? "")?.[1] ?? "";
  const scope = `20130524/us-east-1/s3/${brand.terminator}`;
  const wire: Uint8Array[] = [];
  for (const chunk of [...chunks, Buffer.alloc(0)]) {
    previous = signText(
      [`${brand.algorithm}-PAYLOAD`, exampleTime, scope, previous, emptyHash, hex(chunk)].join("\n"),
      brand,
    );
    wire.push(Buffer.from(`${chunk.length.toString(16)};chunk-signature=${previous}\r\n`), chunk);
    if (chunk.length > 0) wire.push(Buffer.from("\r\n"));
  }
  if (trailers !== undefined) {
    const lines = Object.entries(trailers).map(([name, value]) => `${name}:${value}`);
    const block = lines.map((line) => `${line}\n`).join("");
    const last = signText([`${brand.algorithm}-TRAILER`, exampleTime, scope, previous, hex(block)].join("\n"), brand);
    wire.push(
      Buffer.from([...lines, `${brand.headerPrefix}trailer-signature:${last}`].map((line) => `${line}\r\n`).join("")),
    );
  }
  return { request, wire: Buffer.concat([...wire, Buffer.from("\r\n")]) };
};

/** Parts of a request that a test changes. */
export type Request = Partial<ReceivedRequest> & { rawHeaders?: readonly string[] };

/** The request with a text replaced wherever it stands. */
export const changed = (request: Request, from: string | RegExp, to: string): Request => ({
  ...request,
  ...(request.rawQuery === undefined ? {} : { rawQuery: request.rawQuery.replace(from, to) }),
  ...(request.rawHeaders === undefined ? {} : { rawHeaders: request.rawHeaders.map((text) => text.replace(from, to)) }),
});
/** The request as it arrives some time after the published instant. */
export const at = (request: Request, offsetMs: number): Request => ({
  ...request,
  clock: new FakeClock(exampleMs + offsetMs),
});
