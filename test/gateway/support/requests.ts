import type { Fixture } from "./fixture.ts";
import { dialects } from "./fixture.ts";
import { formBody, formHeaders } from "./form.ts";
import type { OriginSource } from "../../../gateway/cross-origin/origin-source.ts";
import { headBytes, sendBytes } from "./raw-client.ts";
import type { TestRequest, TestResponse } from "./signing-client.ts";
import { expiredToken, send, signHeaders, temporaryKey } from "./signing-client.ts";

type Headers = Readonly<Record<string, string>>;
type Answer = Promise<TestResponse>;

export const list: TestRequest = { method: "GET", target: "/novels" };
export const book: TestRequest = { method: "PUT", target: "/novels/emma", body: "Emma" };
export const readers: TestRequest = { method: "GET", target: "/readers" };
export const rules = (headers: Headers, body = "<ShelfRules/>"): TestRequest => ({
  method: "PUT",
  target: "/novels?rules",
  headers,
  body,
});

/** Requests of which a part is wrong. */
export interface Requests {
  readonly fixture: Fixture;
  /** To object storage, as they are. */
  signed(request: TestRequest): Answer;
  unsigned(request: TestRequest, headers?: Headers): Answer;
  /** Signs a request to object storage, then changes its headers and its body. */
  changed(request: TestRequest, headers: Headers, body?: string): Answer;
  /** Signs a listing of object storage and replaces a text of its authorization. */
  authorized(from: string | RegExp, to: string): Answer;
  /** Signs a listing of object storage at another time, or without the hash of its body. */
  signedAs(change: { offsetMs?: number; tellsHash?: boolean }): Answer;
  /** A presigned URL that is refused before its signature is computed. */
  presigned(parameters: Headers): Answer;
  /** A presigned URL with a session token that has expired. */
  expired(): Answer;
  /** An upload in chunks that are signed, or that are not signed and have a trailer. */
  chunked(form: "signed" | "trailer", body: string, length?: string): Answer;
  /** An upload whose head says nothing about its length. */
  lengthless(): Answer;
  /** An upload of which only the first bytes are sent. */
  stalled(): Answer;
  form(fields: Headers, file?: string): Answer;
  formOf(body: string, headers?: Headers): Answer;
  preflight(target: string): Answer;
  /** Signs a request to a JSON API, then replaces a text of its authorization and changes its headers. */
  json(request: TestRequest, replaced?: readonly [RegExp, string], headers?: Headers): Answer;
  /** Posts an empty document to the event bus. */
  bus(target: string, headers: Headers): Answer;
}

/** Requests to the gateway of a fixture. */
export const requestsTo = (fixture: Fixture): Requests => {
  const { url } = fixture;
  const unsigned = (request: TestRequest, headers: Headers = {}): Answer => send(url, request, headers);
  const signed = (request: TestRequest): Answer => fixture.call("object-storage", "amz", request);
  const sign = (request: TestRequest): Record<string, string> => fixture.sign("object-storage", "amz", request);
  const formOf = (body: string, headers: Headers = formHeaders): Answer =>
    unsigned({ method: "POST", target: "/novels", body }, headers);
  const presigned = (change: Headers): Answer => {
    const parameters = new URLSearchParams({
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Credential": "QKIATESTTESTTESTTEST/20260102/us-east-1/s3/aws4_request",
      "X-Amz-Date": "20260102T030405Z",
      "X-Amz-Expires": "60",
      "X-Amz-SignedHeaders": "host",
      "X-Amz-Signature": "00",
      ...change,
    });
    return unsigned({ method: "GET", target: `/novels?${parameters.toString()}` });
  };
  return {
    fixture,
    signed,
    unsigned,
    formOf,
    form: (fields, file = "1234") => formOf(formBody(fields, file)),
    changed: (request, headers, body) =>
      unsigned({ ...request, ...(body === undefined ? {} : { body }) }, { ...sign(request), ...headers }),
    authorized: (from, to) => {
      const headers = sign(list);
      return unsigned(list, { ...headers, authorization: headers["authorization"]!.replace(from, to) });
    },
    signedAs: ({ offsetMs = 0, tellsHash = true }) => {
      const nowMs = fixture.clock.now() + offsetMs;
      const signing = { brand: dialects.amz.signature, service: "s3", nowMs, tellsHash };
      return unsigned(list, signHeaders(list, new URL(url).host, signing));
    },
    presigned,
    expired: () => {
      const credential = `${temporaryKey.accessKeyId}/20260102/us-east-1/s3/aws4_request`;
      return presigned({ "X-Amz-Credential": credential, "X-Amz-Security-Token": expiredToken });
    },
    chunked: (form, body, length = "4") => {
      const hash = form === "signed" ? "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" : "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
      return signed({
        ...book,
        headers: { "x-amz-content-sha256": hash, "x-amz-decoded-content-length": length },
        body,
      });
    },
    lengthless: () => sendBytes(url, headBytes("PUT", book.target, sign({ method: "PUT", target: book.target }))),
    stalled: () => {
      const headers = { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
      const head = { ...sign({ method: "PUT", target: book.target, headers }), "content-length": "9" };
      return sendBytes(url, `${headBytes("PUT", book.target, head)}half`);
    },
    preflight: (target) =>
      unsigned(
        { method: "OPTIONS", target },
        { origin: "https://ada.example", "access-control-request-method": "PUT" },
      ),
    bus: (target, headers) => fixture.call("event-bus", "amz", { method: "POST", target, headers, body: "{}" }),
    json: (request, [from, to] = [/never/, ""], change = {}) => {
      const headers = fixture.sign("customer-profile", "amz", request);
      return unsigned(request, {
        ...headers,
        authorization: headers["authorization"]!.replace(from, to),
        ...change,
      });
    },
  };
};

const readersRule = {
  allowedOrigins: ["https://read.ada.example"],
  allowedMethods: ["GET"],
  allowedHeaders: [],
  exposeHeaders: [],
};

/** Rules that let the scripts of readers get novels. */
export const onlyReaders: OriginSource = {
  find: async (path) =>
    path.startsWith("/novels") ? { kind: "rules", rules: [readersRule] } : { kind: "no-resource" },
};
