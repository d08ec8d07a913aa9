import { describe, expect, test } from "vitest";

import {
  countProxyHops,
  functionHeaders,
  requestHeaders,
  responseHeaders,
} from "../../../services/refactoring-workspace/proxy/forwarded-headers.ts";

const client = {
  address: "198.51.100.1",
  peerAddress: "192.0.2.7",
  host: "shop.example:8081",
  port: 8081,
  protocol: "http",
} as const;
const added = [
  "host",
  "users.example",
  "via",
  "1.1 quartet",
  "x-forwarded-for",
  "192.0.2.7",
  "x-forwarded-host",
  "shop.example:8081",
  "x-forwarded-port",
  "8081",
  "x-forwarded-proto",
  "http",
];

describe("requestHeaders", () => {
  test("keeps end-to-end fields as they came, repeated ones and their case included", () => {
    const came = [
      "Host",
      "shop.example:8081",
      "X-A",
      "1",
      "x-a",
      "2",
      "Authorization",
      "AWS4-HMAC-SHA256 x",
      "Cookie",
      "c",
    ];
    expect(requestHeaders(came, "users.example", client)).toEqual([...came.slice(2), ...added]);
  });

  test("drops the fields of the connection, and those that it names", () => {
    const came = [
      "Connection",
      "keep-alive, X-Private, content-length",
      "Keep-Alive",
      "1",
      "TE",
      "trailers",
      "Trailer",
      "x",
      "Transfer-Encoding",
      "chunked",
      "Upgrade",
      "h2c",
      "Proxy-Authorization",
      "x",
      "Proxy-Connection",
      "close",
      "X-Private",
      "x",
      "Expect",
      "100-continue",
      "Content-Length",
      "7",
    ];
    expect(requestHeaders(came, "users.example", client)).toEqual(["Content-Length", "7", ...added]);
  });

  test("appends to X-Forwarded-For and replaces the other X-Forwarded fields", () => {
    const came = ["X-Forwarded-For", "198.51.100.1", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "spoofed"];
    expect(requestHeaders(came, "users.example", client)).toEqual([
      ...added.slice(0, 5),
      "198.51.100.1, 192.0.2.7",
      ...added.slice(6),
    ]);
  });

  test("keeps the Via of others", () => {
    expect(requestHeaders(["Via", "1.1 other"], "users.example", client)).toEqual(["Via", "1.1 other", ...added]);
  });
});

test("functionHeaders keeps all fields as they came but what is said of the client", () => {
  const came = ["Host", "a", "Connection", "close", "X-Forwarded-For", "198.51.100.1", "x-forwarded-proto", "https"];
  expect(functionHeaders([...came, "X-Forwarded-Prefix", "/p"], client)).toEqual([
    "Host",
    "a",
    "Connection",
    "close",
    "X-Forwarded-Prefix",
    "/p",
    "X-Forwarded-For",
    "198.51.100.1, 192.0.2.7",
    "X-Forwarded-Host",
    "shop.example:8081",
    "X-Forwarded-Port",
    "8081",
    "X-Forwarded-Proto",
    "http",
  ]);
});

test("responseHeaders keeps end-to-end fields and drops those of the connection", () => {
  const came = ["Set-Cookie", "a=1", "Connection", "close, x-hop", "X-Hop", "1", "set-cookie", "b=2", "Date", "d"];
  expect(responseHeaders(came)).toEqual(["Set-Cookie", "a=1", "set-cookie", "b=2", "Date", "d"]);
});

test("countProxyHops counts proxies of ours only", () => {
  expect(countProxyHops(undefined)).toBe(0);
  expect(countProxyHops("1.1 quartet, 1.0 fred, 1.1 quartet (x)")).toBe(2);
});
