import type { IncomingMessage } from "node:http";

import { expect, test } from "vitest";

import type { HttpExchange } from "../../../gateway/pipeline/exchange.ts";
import { describeRequest, isDescribed } from "../../../gateway/reports/described-request.ts";

const withHosts = { hasVirtualHosts: true };

test.each([
  // is the request described, the service, path, method
  [true, withHosts, "/arn:aws:s3:us-east-1:111122223333:accesspoint/photos/cat.png", "GET"],
  [true, withHosts, "/arn%3Aaws%3As3-object-lambda:us-east-1:111122223333:accesspoint%2Fphotos/cat.png", "GET"],
  [true, withHosts, "/photos-alias--ol-s3/cat.png", "GET"],
  [true, withHosts, "/photos-alias--ol-s3", "GET"],
  [true, withHosts, "/photos-111122223333/cat.png", "GET"],
  [true, withHosts, "/photos-111122223333.s3-accesspoint/cat.png", "GET"],
  [true, withHosts, "/photos-111122223333", "GET"],
  [false, withHosts, "/photos-alias--ol-s3/cat.png", "HEAD"],
  [false, withHosts, "/photos-alias--ol-s3/cat.png", "PUT"],
  [false, withHosts, "/photos/cat.png", "GET"],
  [false, withHosts, "/photos/photos-alias--ol-s3", "GET"],
  [false, withHosts, "/photos-alias--ol-s3a/cat.png", "GET"],
  [false, withHosts, "/photos-11112222333/cat.png", "GET"],
  [false, withHosts, "/photos-1111222233334/cat.png", "GET"],
  [false, { hasVirtualHosts: false }, "/photos-alias--ol-s3/cat.png", "GET"],
  [false, { hasVirtualHosts: false }, "/photos-alias--ol-s3/cat.png", "HEAD"],
])("%s: %j %s %s is described for a function", (isIt, api, path, method) => {
  expect(isDescribed(api, path, method)).toBe(isIt);
});

/** The description of a request. */
const described = (rawHeaders: readonly string[], rawQuery = "") => {
  const request = { rawHeaders, headers: { host: "photos.test" }, socket: {} } as unknown as IncomingMessage;
  const exchange = { request, rawPath: "/cat.png", rawQuery } as HttpExchange;
  return describeRequest({ publicUrl: () => "http://public.test" }, exchange);
};

test("a request is described by its URL and headers, without what proves who sent it", () => {
  const secrets = ["Authorization", "cookie", "PROXY-Authorization", "X-Amz-Security-Token"].flatMap((name) => [
    name,
    "s",
  ]);
  const key = "x-amz-server-side-encryption-customer-key";
  const headers = [...secrets, key, "s", "Range", "bytes=0-1", "x-amz-security-tokens", "a", `${key}-md5`, "b"];
  expect(described(headers, "versionId=1&X-Amz-Signature=abc&x-amz-security-token=def")).toEqual({
    base: "http://public.test",
    url: "http://photos.test/cat.png?versionId=1&X-Amz-Signature=hidden&x-amz-security-token=hidden",
    headers: { Range: "bytes=0-1", "x-amz-security-tokens": "a", [`${key}-md5`]: "b" },
  });
});

test("headers of more than 6 KiB are left out from there on, and of the URL what is longer than 4 KiB", () => {
  const long = "v".repeat(3 * 1024 - 1);
  const { headers, url } = described(["a", long, "b", long, "c", "", "d", "after"], `prefix=${"p".repeat(5_000)}`);
  expect([Object.keys(headers), url.length]).toEqual([["a", "b"], 4_096]);
});
