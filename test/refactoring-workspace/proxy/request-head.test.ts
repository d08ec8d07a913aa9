import { describe, expect, test } from "vitest";

import { sendRaw } from "../../support/raw-request.ts";
import { startProxied } from "./proxied.ts";

/** The status, header and JSON of a refusal, and its id. */
const partsOf = (answer: string) => {
  const [head = "", body = ""] = answer.split("\r\n\r\n", 2);
  const { message, requestId } = JSON.parse(body) as { readonly message: string; readonly requestId: string };
  const sentId = /^x-request-id: (.+)$/im.exec(head)?.[1]?.trim();
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), message, isSameId: sentId === requestId };
};

const oneHost = "The request must have one Host header.";
const aHost = "The Host header is not a host with an optional port.";
const noRequest = "The request is not one of HTTP/1.1.";
const chunkedOnly = "The only transfer coding that the proxy takes is chunked.";
const noMethod = "The proxy takes neither CONNECT nor TRACE.";
const noExpectation = "The proxy meets no expectation but 100-continue.";

/** `PATH` is the application's. */
const refused: readonly (readonly [string, string, number, string])[] = [
  ["no Host", "GET PATH/a HTTP/1.1\r\n", 400, oneHost],
  ["two Hosts", "GET PATH/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n", 400, oneHost],
  ["two equal Hosts of HTTP/1.0", "GET PATH/a HTTP/1.0\r\nHost: a\r\nhost: a\r\n", 400, oneHost],
  ["a Host with a space", "GET PATH/a HTTP/1.1\r\nHost: a b\r\n", 400, aHost],
  ["a Host with a path", "GET PATH/a HTTP/1.1\r\nHost: a/b\r\n", 400, aHost],
  ["a Host with a user", "GET PATH/a HTTP/1.1\r\nHost: u@a\r\n", 400, aHost],
  ["a Host whose port is none", "GET PATH/a HTTP/1.1\r\nHost: a:b\r\n", 400, aHost],
  ["a user in the target", "GET http://u@aPATH/a HTTP/1.1\r\nHost: a\r\n", 400, aHost],
  ["another coding", "POST PATH/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n", 501, chunkedOnly],
  [
    "another coding in a line of its own",
    "POST PATH/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
    501,
    chunkedOnly,
  ],
  [
    "a coding of HTTP/1.0",
    "POST PATH/a HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n",
    400,
    "A request of HTTP/1.0 can have no Transfer-Encoding.",
  ],
  ["TRACE", "TRACE PATH/a HTTP/1.1\r\nHost: a\r\n", 501, noMethod],
  ["CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n", 501, noMethod],
  ["an expectation", "POST PATH/a HTTP/1.1\r\nHost: a\r\nExpect: money\r\n", 417, noExpectation],
  ["two expectations", "POST PATH/a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, money\r\n", 417, noExpectation],
  ["no header", "GET PATH/a HTTP/1.1\r\nHost\r\n", 400, noRequest],
  ["a version that is not spoken", "GET PATH/a HTTP/2.0\r\nHost: a\r\n", 505, "The proxy speaks HTTP/1.1 and 1.0."],
  ["a version that is none", "GET PATH/a HTTP/1.5\r\nHost: a\r\n", 400, noRequest],
  [
    "a long header",
    `GET PATH/a HTTP/1.1\r\nHost: a\r\nb: ${"x".repeat(70_000)}\r\n`,
    431,
    "The header of the request is too large.",
  ],
];

describe("the proxy refuses with a reason and an id", () => {
  test.each(refused)("%s", async (_what, lines, status, message) => {
    const { url, workspace, backend } = await startProxied();
    const { pathname } = new URL(url);
    const before = backend.asked.length;
    const answer = await sendRaw(workspace.proxy.port, `${lines.replace("PATH", pathname)}Connection: close\r\n\r\n`);
    expect(partsOf(answer)).toEqual({ status, message, isSameId: true });
    expect(backend.asked).toHaveLength(before);
  });
});

/** `PATH` is the application's. */
const served: readonly (readonly [string, string])[] = [
  ["an empty Host", "GET PATH/a HTTP/1.1\r\nHost:\r\n"],
  ["a Host with an address of IPv6", "GET PATH/a HTTP/1.1\r\nHost: [::1]:8081\r\n"],
  ["no Host of HTTP/1.0", "GET PATH/a HTTP/1.0\r\n"],
  ["an empty expectation", "GET PATH/a HTTP/1.1\r\nHost: a\r\nExpect:\r\n"],
  ["chunks in capitals", "GET PATH/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n"],
];

describe("the proxy serves", () => {
  test.each(served)("%s", async (_what, lines) => {
    const { url, workspace } = await startProxied();
    const body = lines.includes("Transfer-Encoding") ? "0\r\n\r\n" : "";
    const sent = `${lines.replace("PATH", new URL(url).pathname)}Connection: close\r\n\r\n${body}`;
    expect(await sendRaw(workspace.proxy.port, sent)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*monolith GET \/a/);
  });
});

test("the host in a target of absolute form counts, and the Host header does not", async () => {
  const { url, workspace } = await startProxied((request, response) =>
    response.end(`${request.url} of ${String(request.headers["x-forwarded-host"])}`),
  );
  const [, apiGatewayId = "", stage = ""] = new URL(url).pathname.split("/");
  const host = `${apiGatewayId}.shop.example:8081`;
  const sent = `GET http://${host}/${stage}/a HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n`;
  expect(await sendRaw(workspace.proxy.port, sent)).toMatch(new RegExp(`\\r\\n\\r\\n/a of ${host}$`));
});
