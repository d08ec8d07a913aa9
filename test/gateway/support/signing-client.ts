import { createHash, createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { request as httpRequest } from "node:http";

import type { AccessKeys } from "../../../services/kit/identity/access-keys.ts";
import { fixedAccessKeys } from "../../../services/kit/identity/access-keys.ts";
import type { SignatureBrand } from "../../../gateway/signature/brand.ts";

/** The key that the tests' gateway knows. */
export const testKey = {
  accessKeyId: "QKIATESTTESTTESTTEST",
  secretAccessKey: "a-secret-for-tests-only",
  accountId: "000000000000",
  policies: [],
} as const;

/** A temporary key that the tests' gateway knows, with its session token and one that has expired. */
export const temporaryKey = { ...testKey, accessKeyId: "ASIATESTTESTTESTTEST" };
const sessionToken = "token-of-the-session";
export const expiredToken = "token-of-yesterday";

/** The keys that the tests' gateway knows. */
export const testKeys: AccessKeys = {
  ...fixedAccessKeys([testKey]),
  findTemporary: (accessKeyId, token) => {
    if (accessKeyId !== temporaryKey.accessKeyId) return undefined;
    if (token === expiredToken) return "expired";
    return token === sessionToken ? temporaryKey : undefined;
  },
};

/** A request to sign and send. The query is written in its canonical order by the test. */
export interface TestRequest {
  readonly method: string;
  /** With the query, `/novels/emma?marker=a`. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The host that is named; unset: the address itself. */
  readonly host?: string;
}

/** How a request is signed. */
export interface Signing {
  readonly brand: SignatureBrand;
  /** The service name in the credential scope. */
  readonly service: string;
  readonly nowMs: number;
  /** Whether the hash of the body is told in a header, as object storage asks for. */
  readonly tellsHash: boolean;
  /** Unset: those of the key that the tests' gateway knows. */
  readonly accessKeyId?: string;
  readonly secret?: string;
  readonly region?: string;
}

/** An answer, whole. */
export interface TestResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

/** The headers of a request with the signature among them; every header given is signed. */
export const signHeaders = (request: TestRequest, host: string, signing: Signing): Record<string, string> => {
  const { brand, service, region = "us-east-1", secret = testKey.secretAccessKey } = signing;
  const { accessKeyId = testKey.accessKeyId } = signing;
  const time = new Date(signing.nowMs).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const told = request.headers?.[`${brand.headerPrefix}content-sha256`];
  const payloadHash = told ?? sha256(request.body ?? "");
  const headers: Record<string, string> = {
    host: request.host ?? host,
    [`${brand.headerPrefix}date`]: time,
    ...(signing.tellsHash ? { [`${brand.headerPrefix}content-sha256`]: payloadHash } : {}),
    ...request.headers,
  };
  const [path = "/", query = ""] = request.target.split("?");
  const names = Object.keys(headers).toSorted();
  const canonicalPath = signing.tellsHash ? path : path.split("/").map(encodeURIComponent).join("/");
  const canonicalQuery = query
    .split("&")
    .map((part) => (part === "" || part.includes("=") ? part : `${part}=`))
    .toSorted()
    .join("&");
  const canonical = [
    request.method,
    canonicalPath,
    canonicalQuery,
    ...names.map((name) => `${name}:${headers[name]}`),
    "",
    names.join(";"),
    payloadHash,
  ].join("\n");
  const date = time.slice(0, 8);
  const scope = [date, region, service, brand.terminator].join("/");
  let key = Buffer.from(brand.keySeed + secret);
  for (const part of scope.split("/")) key = createHmac("sha256", key).update(part).digest();
  const signature = createHmac("sha256", key)
    .update([brand.algorithm, time, scope, sha256(canonical)].join("\n"))
    .digest("hex");
  const credential = `${accessKeyId}/${scope}`;
  headers["authorization"] =
    `${brand.algorithm} Credential=${credential}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  return headers;
};

/** Sends a request with exactly these headers and reads the whole answer. */
export const send = (
  url: string,
  request: TestRequest,
  headers: Readonly<Record<string, string>>,
): Promise<TestResponse> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const body = request.body === undefined ? undefined : Buffer.from(request.body);
    const length =
      body === undefined || headers["content-length"] !== undefined ? {} : { "content-length": body.length };
    const sent = httpRequest({
      host: hostname,
      port,
      method: request.method,
      path: request.target,
      headers: { host: request.host ?? new URL(url).host, ...headers, ...length },
      agent: false,
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString("utf8"),
        }),
      );
    });
    sent.end(body);
  });
