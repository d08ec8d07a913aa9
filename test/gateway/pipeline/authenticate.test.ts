import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { withOrigin } from "../../../gateway/pipeline/authenticate.ts";
import { userCaller } from "../../../services/kit/identity/caller.ts";
import type { Fixture } from "../support/fixture.ts";
import { startFixture } from "../support/fixture.ts";
import { headBytes, sendBytes } from "../support/raw-client.ts";

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture();
});
afterAll(() => fixture.stop());

const request = { method: "POST", target: "/readers/Ada" };
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

type Headers = Readonly<Record<string, string>>;

describe("a head that is refused is refused without its body", () => {
  test.each([
    // what, how the signed headers are changed, the error
    ["a wrong scope", ["us-east-1", "eu-west-1"], {}, "InvalidSignatureException"],
    ["an unknown key", ["QKIATESTTESTTESTTEST", "QKIANOBODY"], {}, "UnrecognizedClientException"],
    ["a date too old", ["", ""], { "x-amz-date": "20260102T010101Z" }, "InvalidSignatureException"],
    ["an unsigned header", ["", ""], { "x-amz-other": "a" }, "InvalidSignatureException"],
    [
      "a wrong signature of a body whose hash is declared",
      [/Signature=..../, "Signature=0000"],
      {},
      "InvalidSignatureException",
    ],
  ] as const)("%s", async (_name, [from, to], change: Headers, error) => {
    const headers = fixture.sign("customer-profile", "amz", {
      ...request,
      headers: { "x-amz-content-sha256": emptyHash },
    });
    const authorization = headers["authorization"]!.replace(from, to);
    const sent = { ...headers, ...change, authorization, "content-length": "4000000" };
    const response = await sendBytes(fixture.url, headBytes(request.method, request.target, sent));
    expect([response.status >= 400, JSON.parse(response.body)]).toEqual([
      true,
      expect.objectContaining({ __type: error }),
    ]);
  });

  test("and the client is not asked for it", async () => {
    const headers = fixture.sign("customer-profile", "amz", request);
    const authorization = headers["authorization"]!.replace("QKIATESTTESTTESTTEST", "QKIANOBODY");
    const sent = { ...headers, authorization, "content-length": "9", expect: "100-continue" };
    const response = await sendBytes(fixture.url, headBytes(request.method, request.target, sent));
    expect(response.status).toBe(403);
  });
});

describe("the caller of a request on a connection that others have used", () => {
  const [near, far] = ["127.0.0.1", "192.0.2.7"].map((remoteAddress) => ({ remoteAddress }) as unknown as Socket);
  const [ada, emma] = ["ada", "emma"].map((name) => userCaller("000000000000", name, []));
  const inHeader = { signatureVersion: "AWS4-HMAC-SHA256", authType: "REST-HEADER" } as const;
  const inQuery = { signatureVersion: "AWS", authType: "REST-QUERY-STRING" } as const;
  const of = { near: { socket: near!, sourceIp: "127.0.0.1" }, far: { socket: far!, sourceIp: "192.0.2.7" } };
  const unencrypted = { isSecureTransport: false };

  test.each([
    // what, the connection, who signs, how, the headers, what is the request's own
    [
      "of a first one",
      of.near,
      ada!,
      { ...inHeader, signatureAgeMs: 5 },
      { "user-agent": "cli" },
      { userAgent: "cli" },
    ],
    [
      "of the same",
      of.near,
      ada!,
      { ...inHeader, signatureAgeMs: 7 },
      { referer: "http://a" },
      { referer: "http://a" },
    ],
    ["of another signer", of.near, emma!, { ...inHeader, signatureAgeMs: 7 }, {}, {}],
    ["signed in another way", of.near, emma!, inQuery, {}, {}],
    ["of nobody", of.near, emma!, undefined, {}, {}],
    ["on another connection", of.far, emma!, { ...inHeader, signatureAgeMs: 1 }, {}, {}],
    ["of the first one again", of.near, ada!, { ...inHeader, signatureAgeMs: 9 }, {}, {}],
  ] as const)("is its own: %s", (_what, { socket, sourceIp }, caller, signature, headers, own) => {
    const received = { socket, headers } as unknown as IncomingMessage;
    expect(withOrigin(caller, { request: received, forwarded: undefined }, signature)).toEqual({
      ...caller,
      sourceIp,
      ...unencrypted,
      ...signature,
      ...own,
    });
  });

  test("is what a trusted proxy says of each request", () => {
    const received = { socket: near, headers: {} } as unknown as IncomingMessage;
    const forwarded = [
      { sourceIp: "198.51.100.1", isSecureTransport: true },
      { sourceIp: "198.51.100.2", isSecureTransport: false },
    ];
    for (const each of forwarded)
      expect(withOrigin(ada!, { request: received, forwarded: each }, inHeader)).toEqual({
        ...ada,
        ...each,
        ...inHeader,
      });
  });
});

test("a body over what is left for all bodies is answered with 503, and counts until its answer", async () => {
  const small = await startFixture({ bodiesBytesMax: 20 });
  onTestFinished(() => small.stop());
  const post = (body: string) => small.call("customer-profile", "amz", { ...request, body });
  const refused = await post('{"Name":"a name too long"}');
  expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);
  for (let time = 0; time < 3; time += 1) expect((await post('{"Name":"Ada"}')).status).not.toBe(503);
});
