import { describe, expect, test } from "vitest";

import { parseQuery } from "../../../gateway/http/query.ts";
import {
  canonicalHeaders,
  canonicalQuery,
  doubleEncodedPath,
  indexHeaders,
  singleEncodedPath,
} from "../../../gateway/signature/canonical.ts";
import { reasonOf } from "../support/refused.ts";
import { exampleKey, signature, signedByHeader, verifyExample } from "./signer.ts";

describe("a path", () => {
  // as it came, for object storage, for all other APIs
  test.for([
    ["/", "/", "/"],
    ["/a/b.txt", "/a/b.txt", "/a/b.txt"],
    ["/a%20b", "/a%20b", "/a%2520b"],
    ["/a%2fb%2Fc", "/a%2Fb%2Fc", "/a%252fb%252Fc"],
    ["/%41%7E~", "/A~~", "/%2541%257E~"],
    ["/a+b", "/a%2Bb", "/a%2Bb"],
    ["/!*'()", "/%21%2A%27%28%29", "/%21%2A%27%28%29"],
    ["/a%zz%", "/a%25zz%25", "/a%25zz%25"],
    ["/\u00c3\u00bc", "/%C3%BC", "/%C3%BC"],
    ["//a//b/", "//a//b/", "/a/b/"],
    ["/a/../b/./c", "/a/../b/./c", "/b/c"],
    ["/..", "/..", "/"],
  ] as const)("%s is %s or %s", ([raw, single, double]) => {
    expect([singleEncodedPath(raw), doubleEncodedPath(raw)]).toEqual([single, double]);
  });
});

describe("a query", () => {
  // as it came, its canonical form
  test.for([
    ["", ""],
    ["acl", "acl="],
    ["b=2&a=1", "a=1&b=2"],
    ["a=2&a=1&a", "a=&a=1&a=2"],
    ["a-b=1&a=2", "a=2&a-b=1"],
    ["&&a=1&", "a=1"],
    ["a=b=c", "a=b%3Dc"],
    ["a=b+c%2Bd%20e", "a=b%20c%2Bd%20e"],
    ["%C3%BC=%c3%bc", "%C3%BC=%C3%BC"],
    ["A=1&a=1&_=1", "A=1&_=1&a=1"],
    ["X-Amz-Signature=gone&a=1", "a=1"],
  ] as const)("%s is %s", ([raw, canonical]) => {
    expect(canonicalQuery(parseQuery(raw).all, "X-Amz-Signature")).toBe(canonical);
  });
});

// As many as a target has room for: anybody who knows the id of a key may have them sorted.
test("the parameters of a long query are taken apart once each, not in each comparison", () => {
  const { all } = parseQuery(
    Array.from({ length: 8_000 }, (_, at) => String.fromCharCode(97 + ((at * 7) % 26))).join("&"),
  );
  const times = Array.from({ length: 5 }, () => {
    const before = process.threadCpuUsage();
    canonicalQuery(all, undefined);
    return process.threadCpuUsage(before).user / 1_000;
  });
  // 64 ms if they are.
  expect(Math.min(...times)).toBeLessThan(30);
});

test("headers are trimmed, collapsed and joined", () => {
  const headers = indexHeaders([
    "Host",
    "h",
    "My-Header1",
    "  a   b\t c  ",
    "my-header2",
    '"a   b"',
    "MY-HEADER1",
    "d",
  ]);
  expect(canonicalHeaders(headers, ["host", "my-header1", "my-header2", "my-header3"])).toBe(
    'host:h\nmy-header1:a b c,d\nmy-header2:"a b"\nmy-header3:\n',
  );
});

test("headers without a blank are joined as well", () => {
  const headers = indexHeaders(["Host", "h:80", "A", "1", "b", "", "a", "2"]);
  expect(canonicalHeaders(headers, ["a", "b", "c", "host"])).toBe("a:1,2\nb:\nc:\nhost:h:80\n");
});

const authorization = (made: ReturnType<typeof signature>) =>
  `AWS4-HMAC-SHA256 Credential=${exampleKey.accessKeyId}/${made.scope}, SignedHeaders=${made.names}, Signature=${made.signature}`;

const outcomeOf = (verify: () => string): string => {
  try {
    return verify();
  } catch (error) {
    return reasonOf(error);
  }
};

describe("a client that signs what it sends", () => {
  const hash = "UNSIGNED-PAYLOAD";
  const common = { host: "h", "x-amz-content-sha256": hash, "x-amz-date": "20130524T000000Z" };
  test("may sign a query exactly as it is sent, unsorted and without equals signs", () => {
    expect(verifyExample(signedByHeader({ query: "versions&prefix=b&acl" })).form).toBe("header");
  });

  test("may leave path and query out of their canonical spelling", () => {
    const made = signature({
      method: "GET",
      path: "/a(b)%7e",
      query: "prefix=a+b",
      headers: common,
      payloadHash: hash,
    });
    const rawHeaders = [...Object.entries(common).flat(), "Authorization", authorization(made)];
    expect(verifyExample({ rawPath: "/a(b)%7e", rawQuery: "prefix=a+b", rawHeaders }).form).toBe("header");
  });

  // what is signed, what is sent, whether it is accepted: only the second of two slashes, as the SDK for Java does
  test.for([
    ["/b/x//y", "/b/x/%2Fy", "header"],
    ["/b//x", "/b/%2Fx", "header"],
    ["/b/x///y", "/b/x/%2F/y", "header"],
    ["/b/x/y", "/b/x%2Fy", "SIGNATURE_MISMATCH"],
    ["/b/x/y", "/b/x/%2Fy", "SIGNATURE_MISMATCH"],
  ] as const)("has signed %s and sends %s: %s", ([path, rawPath, outcome]) => {
    const made = signature({ method: "GET", path, query: "", headers: common, payloadHash: hash });
    const rawHeaders = [...Object.entries(common).flat(), "Authorization", authorization(made)];
    expect(outcomeOf(() => verifyExample({ rawPath, rawHeaders }).form)).toBe(outcome);
  });

  test("may sign header values as UTF-8 that it sends as Latin-1", () => {
    const headers = { ...common, "x-amz-meta-name": "Zoë" };
    const made = signature({ method: "GET", path: "/", query: "", headers, payloadHash: hash });
    const rawHeaders = [...Object.entries(headers).flat(), "Authorization", authorization(made)];
    expect(verifyExample({ rawPath: "/", rawHeaders }).form).toBe("header");
  });

  test("may send header values as UTF-8", () => {
    const made = signature({
      method: "GET",
      path: "/",
      query: "",
      headers: { ...common, "x-amz-meta-name": "Zoë" },
      payloadHash: hash,
    });
    const rawHeaders = [
      ...Object.entries(common).flat(),
      "x-amz-meta-name",
      "Zo\u00c3\u00ab",
      "Authorization",
      authorization(made),
    ];
    expect(verifyExample({ rawPath: "/", rawHeaders }).form).toBe("header");
  });

  test("may send the plain date only", () => {
    const headers = { date: "Fri, 24 May 2013 00:00:00 GMT", host: "h", "x-amz-content-sha256": hash };
    const made = signature({ method: "GET", path: "/", query: "", headers, payloadHash: hash });
    const rawHeaders = [...Object.entries(headers).flat(), "Authorization", authorization(made)];
    expect(verifyExample({ rawPath: "/", rawHeaders }).form).toBe("header");
  });
});
