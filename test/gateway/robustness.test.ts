import { connect } from "node:net";

import { afterAll, beforeAll, expect, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { sendRaw } from "../support/raw-request.ts";
import { randomFrom } from "./fuzz/random.ts";
import type { Fixture } from "./support/fixture.ts";
import { startFixture } from "./support/fixture.ts";

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture({ bodyTimeoutMs: 500, stallTimeoutMs: 500 });
});
afterAll(() => fixture.stop());

const methods = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE"];
const pathPieces = [
  "/",
  "novels",
  "emma",
  "%",
  "%00",
  "%FF",
  "%2F",
  "..",
  "__proto__",
  "constructor",
  "é",
  "{Shelf}",
  "a".repeat(300),
  "customer-profile",
  "event-bus",
  "readers",
  "tags",
];
const queryPieces = [
  "?",
  "&",
  "=",
  "rules",
  "list-type=2",
  "x-id=GetBook",
  "uploads",
  "marker=%",
  "max-books=-1",
  "X-Amz-Algorithm=AWS4-HMAC-SHA256",
  "X-Amz-Signature=",
  "x-amz-meta-a=b",
  "__proto__=1",
];
const headerPieces = [
  "authorization: AWS4-HMAC-SHA256",
  "authorization: AWS4-HMAC-SHA256 Credential=a/b/c/d/e,SignedHeaders=,Signature=",
  "authorization: SVC4-HMAC-SHA256 Credential=////,SignedHeaders=host,Signature=0",
  "authorization: Basic YTpi",
  "x-amz-target: AWSEvents.PutNotices",
  "x-amz-target: .",
  "x-svc-target: EventBus.__proto__",
  "x-amz-meta-: empty",
  "x-amz-meta-\u00fc: \u00fc",
  "x-amz-meta-__proto__: a",
  "x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER",
  "x-amz-decoded-content-length: 99999999999999999999",
  "x-amz-copy-source: %",
  "content-md5: ===",
  "content-encoding: aws-chunked,,",
  "expires: yesterday",
  "range: bytes=9-1",
  "host: .localhost",
  "host: [::1]:80",
  "host: a..b.object-storage.",
  "expect: 100-continue",
  "transfer-encoding: chunked",
];
const bodies = [
  "",
  "{",
  "[]",
  '{"Entries":null}',
  '{"__proto__":{"a":1}}',
  "<a",
  "<!DOCTYPE a>",
  "<ShelfRules><Rule/></ShelfRules>",
  "0\r\n\r\n",
  "ffffffff\r\n",
  "\u0000".repeat(64),
];

/** Requests that nobody signed and that follow no contract; those that do stand in `fuzz/`. */
const makeRequest = (pick: (below: number) => number): string => {
  const some = (list: readonly string[], most: number): string[] =>
    Array.from({ length: pick(most + 1) }, () => list[pick(list.length)]!);
  const target = `/${some(pathPieces, 4).join(pick(2) === 0 ? "/" : "")}${pick(2) === 0 ? "" : `?${some(queryPieces, 4).join("&")}`}`;
  const body = bodies[pick(bodies.length)]!;
  const lines = [`${methods[pick(methods.length)]} ${target} HTTP/1.1`, ...some(headerPieces, 4)];
  if (pick(4) > 0) lines.push(`content-length: ${body.length}`);
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
};

test("no request stops the gateway, and every one is answered or its connection closed", async () => {
  fixture.answer("GetBook", async function* () {
    yield { body: Buffer.from("Emma") };
  });
  const pick = randomFrom(20_260_102).below;
  const { hostname, port } = new URL(fixture.url);
  const statuses: number[] = [];
  const talk = async (request: string): Promise<void> => {
    const socket = connect(Number(port), hostname);
    let answer = "";
    socket.on("data", (piece) => {
      answer += piece.toString("latin1");
    });
    socket.on("error", () => {});
    socket.write(Buffer.from(request, "latin1"));
    await eventually(
      () => /HTTP\/1\.1 [2-5]\d\d/.test(answer) || socket.closed,
      `an answer to ${JSON.stringify(request)}`,
    );
    socket.destroy();
    statuses.push(Number(/HTTP\/1\.1 ([2-5]\d\d)/.exec(answer)?.[1] ?? 0));
  };
  for (let round = 0; round < 60; round += 1)
    await Promise.all(Array.from({ length: 10 }, () => talk(makeRequest(pick))));

  expect(statuses).toHaveLength(600);
  expect(statuses.filter((status) => status === 500)).toEqual([]);
  expect((await fetch(`${fixture.adminUrl}/healthz`)).status).toBe(200);
});

test.each([
  // target, Host headers, how the answer begins
  ["/novels", ["localhost"], "HTTP/1.1 200 OK"],
  ["http://LOCALHOST/novels", ["localhost"], "HTTP/1.1 200 OK"],
  ["/novels", ["[::1]:8080"], "HTTP/1.1 200 OK"],
  ["/novels", [], "HTTP/1.1 200 OK"],
  ["/novels", ["localhost", "localhost"], "HTTP/1.1 400 Bad Request"],
  ["/novels", ["localhost", "novels.localhost"], "HTTP/1.1 400 Bad Request"],
  ["/novels", ["user@localhost"], "HTTP/1.1 400 Bad Request"],
  ["/novels", ["novels/emma.localhost"], "HTTP/1.1 400 Bad Request"],
  ["http://novels.localhost/novels", ["localhost"], "HTTP/1.1 400 Bad Request"],
])("%s at the hosts %j is answered with %s", async (target, hosts, begin) => {
  const lines = [...hosts.map((host) => `Host: ${host}`), "Connection: close"];
  const sent = `GET ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
  expect(await sendRaw(Number(new URL(fixture.url).port), sent)).toMatch(new RegExp(`^${begin}\\r\\n`));
});

test.each([
  // codings, how the answer begins
  ["chunked", "HTTP/1.1 200 OK"],
  ["Chunked", "HTTP/1.1 200 OK"],
  ["gzip, chunked", "HTTP/1.1 501 Not Implemented"],
  ["gzip\r\nTransfer-Encoding: chunked", "HTTP/1.1 501 Not Implemented"],
])("a body with the transfer codings %s is answered with %s", async (codings, begin) => {
  const { port } = new URL(fixture.url);
  const lines = [
    "Host: localhost",
    `Transfer-Encoding: ${codings}`,
    "x-amz-decoded-content-length: 5",
    "Connection: close",
  ];
  const head = `PUT /novels/emma HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
  const before = fixture.received.length;
  expect(await sendRaw(Number(port), `${head}5\r\nhello\r\n0\r\n\r\n`)).toMatch(new RegExp(`^${begin}\\r\\n`));
  expect(fixture.received.length - before).toBe(begin.includes("200") ? 1 : 0);
});

test.each([
  // port, expectation, status
  ["url", "100-continue", "200 OK"],
  ["url", "money", "200 OK"],
  ["adminUrl", "100-continue", "100 Continue"],
  ["adminUrl", "money", "417 Expectation Failed"],
] as const)("at %s the expectation %s is answered", async (name, expectation, status) => {
  const { port } = new URL(fixture[name]);
  const head = `GET /livez HTTP/1.1\r\nHost: localhost\r\nExpect: ${expectation}\r\nConnection: close\r\n\r\n`;
  expect(await sendRaw(Number(port), head)).toMatch(new RegExp(`^HTTP/1\\.1 ${status}\\r\\n`));
});
