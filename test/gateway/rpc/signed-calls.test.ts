import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import type { DialectName } from "../../../gateway/dialects/dialect.ts";
import type { Fixture } from "../support/fixture.ts";
import { startFixture } from "../support/fixture.ts";
import { headBytes, sendBytes } from "../support/raw-client.ts";
import { send, temporaryKey, testKey } from "../support/signing-client.ts";

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture({ bodyTimeoutMs: 500 }, { offersRpcs: true });
});
afterAll(() => fixture.stop());
afterEach(() => void fixture.received.splice(0));

const service = "/quartet.test.gateway.v1.NoticeService";
const target = `${service}/PutNotices`;
const json = { "content-type": "application/json" };
const body = '{"entries":[{"source":"Ada"}]}';
const call = { method: "POST", target, headers: json, body };

/** The code of a refusal in the Connect protocol, and the declared reason in its details. */
const refusalIn = (text: string): readonly unknown[] => {
  const { code, details = [] } = JSON.parse(text) as { code: string; details?: { debug?: { reason?: string } }[] };
  return [code, details[0]?.debug?.reason];
};

describe("a signed RPC", () => {
  test.each<DialectName>(["amz", "svc"])("is its signer's, in the dialect %s", async (dialect) => {
    const answer = await fixture.call("event-bus", dialect, call);
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
    expect(fixture.received).toMatchObject([
      {
        method: "PutNotices",
        message: { entries: [{ source: "Ada" }] },
        caller: { accountId: testKey.accountId, isRoot: true, sourceIp: "127.0.0.1", authType: "REST-HEADER" },
      },
    ]);
  });

  test("may be signed by the official SDK, which signs the hash of the body and does not send it", async () => {
    const { accessKeyId, secretAccessKey } = testKey;
    const client = new EventBridgeClient({ region: "us-east-1", credentials: { accessKeyId, secretAccessKey } });
    const { hostname, port, host } = new URL(fixture.url);
    const signer = await client.config.signer();
    const { headers } = await signer.sign(
      {
        method: "POST",
        protocol: "http:",
        hostname,
        port: Number(port),
        path: target,
        query: {},
        headers: { ...json, host },
        body,
      },
      { signingDate: new Date(fixture.clock.now()) },
    );
    client.destroy();
    expect((await send(fixture.url, call, headers)).status).toBe(200);
    expect(fixture.received).toMatchObject([{ caller: { accountId: testKey.accountId } }]);
  });

  test("may be signed with a temporary key", async () => {
    const headers = { ...json, "x-amz-security-token": "token-of-the-session" };
    const signed = fixture.sign("event-bus", "amz", { ...call, headers });
    const authorization = signed["authorization"]!.replace(testKey.accessKeyId, temporaryKey.accessKeyId);
    expect((await send(fixture.url, call, { ...signed, authorization })).status).toBe(200);
  });

  test("may leave its body unsigned, which is then read as it arrives", async () => {
    const headers = { ...json, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
    const signed = fixture.sign("event-bus", "amz", { ...call, headers });
    expect((await send(fixture.url, { ...call, body: '{"entries":[{}]}' }, signed)).status).toBe(200);
  });

  test("tells the service which client signed, and a revision only if it is signed", async () => {
    const seen: (string | null)[][] = [];
    fixture.answer("PutNotices", ({ caller, requestHeader }) => {
      seen.push([caller.userAgent ?? null, requestHeader.get("x-svc-revision")]);
      return {};
    });
    const headers = { ...json, "user-agent": "stub/1" };
    await fixture.call("event-bus", "amz", { ...call, headers: { ...headers, "x-amz-revision": "B" } });
    const signed = fixture.sign("event-bus", "amz", { ...call, headers });
    await send(fixture.url, call, { ...signed, "x-svc-revision": "B" });
    expect(seen).toEqual([
      ["stub/1", "B"],
      ["stub/1", null],
    ]);
  });
});

describe("a signed RPC is refused", () => {
  const chunked = { "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x-amz-decoded-content-length": "9" };
  // what, how it is sent, status, code, reason; in the order of the checks
  test.each<[string, () => Promise<Record<string, string>> | Record<string, string>, number, string, string]>([
    ["for another service", () => fixture.sign("object-storage", "amz", call), 401, "unauthenticated", "WRONG_SCOPE"],
    [
      "by an unknown key",
      () => {
        const signed = fixture.sign("event-bus", "amz", call);
        return { ...signed, authorization: signed["authorization"]!.replace(testKey.accessKeyId, "QKIANOBODY") };
      },
      401,
      "unauthenticated",
      "UNKNOWN_ACCESS_KEY",
    ],
    [
      "with a header of the dialect that is not signed",
      () => ({ ...fixture.sign("event-bus", "amz", call), "x-amz-revision": "B" }),
      401,
      "unauthenticated",
      "UNSIGNED_HEADERS",
    ],
    [
      "with chunks",
      () => fixture.sign("event-bus", "amz", { ...call, headers: { ...json, ...chunked } }),
      401,
      "unauthenticated",
      "INVALID_PAYLOAD_HASH",
    ],
    [
      "with another body",
      () => fixture.sign("event-bus", "amz", { ...call, body: "{}" }),
      401,
      "unauthenticated",
      "SIGNATURE_MISMATCH",
    ],
  ])("%s", async (_what, headersOf, status, code, reason) => {
    const answer = await send(fixture.url, call, await headersOf());
    expect([answer.status, ...refusalIn(answer.body)]).toEqual([status, code, reason]);
    expect(fixture.received).toEqual([]);
  });

  test("without its body being read, where its head is wrong", async () => {
    const signed = fixture.sign("event-bus", "amz", call);
    const authorization = signed["authorization"]!.replace(testKey.accessKeyId, "QKIANOBODY");
    const answer = await sendBytes(
      fixture.url,
      headBytes("POST", target, { ...signed, authorization, "content-length": "4000000" }),
    );
    expect(refusalIn(answer.body)).toEqual(["unauthenticated", "UNKNOWN_ACCESS_KEY"]);
  });

  test("when its body does not arrive in time", async () => {
    const signed = fixture.sign("event-bus", "amz", call);
    const answer = await sendBytes(fixture.url, headBytes("POST", target, { ...signed, "content-length": "30" }));
    expect(refusalIn(answer.body)[1]).toBe("SLOW_BODY");
  });

  test("in its URL, which is no authorization", async () => {
    const query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=00";
    const answer = await send(fixture.url, { ...call, target: `${target}?${query}` }, json);
    expect([answer.status, ...refusalIn(answer.body).slice(0, 1)]).toEqual([401, "unauthenticated"]);
  });
});
