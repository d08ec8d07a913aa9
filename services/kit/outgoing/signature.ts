import { createHash, createHmac } from "node:crypto";

/** The parts of a request that a signature covers. */
interface UnsignedRequest {
  readonly method: string;
  readonly url: URL;
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** In whose name, for which service and where a request is signed. */
export interface SigningScope {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  /** The service's name in signatures, such as `sqs`. */
  readonly service: string;
  /** What the signature covers in the place of the digest of the body. Unset: that digest. */
  readonly payloadHash?: string;
}

/** The headers of a request with a signature of version 4, which covers all of them and the body. */
export const signedHeaders = (
  { method, url, headers, body }: UnsignedRequest,
  { accessKeyId, secretAccessKey, region, service, payloadHash = digest(body) }: SigningScope,
  nowMs: number,
): Record<string, string> => {
  const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const covered: Record<string, string> = { ...headers, host: url.host, "x-amz-date": time };
  const names = Object.keys(covered).toSorted();
  const canonical = [
    method,
    // All services but S3 encode the segments of the path twice; paths of RPCs have nothing to encode.
    url.pathname.split("/").map(encode).join("/"),
    [...url.searchParams]
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .toSorted()
      .join("&"),
    ...names.map((name) => `${name}:${covered[name]?.trim().replace(/ +/g, " ")}`),
    "",
    names.join(";"),
    payloadHash,
  ].join("\n");
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const key = [time.slice(0, 8), region, service, "aws4_request"].reduce<string | Buffer>(
    (under, part) => hmac(under, part),
    `AWS4${secretAccessKey}`,
  );
  const signature = hmac(key, ["AWS4-HMAC-SHA256", time, scope, digest(canonical)].join("\n")).toString("hex");
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  const { host: _host, ...sent } = covered;
  return { ...sent, authorization };
};

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
