import { gzipSync } from "node:zlib";

import { toBinary, create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { EchoRequestSchema, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import type { RunningServer } from "../../../services/kit/server/server.ts";
import { startTestServer } from "./test-service.ts";

let server: RunningServer;
beforeAll(async () => {
  ({ server } = await startTestServer());
});
afterAll(() => server.stop(0));

const call = (method: string): string => `${server.url}/${TestService.typeName}/${method}`;
const binary = (count: number): Buffer =>
  Buffer.from(
    toBinary(EchoRequestSchema, create(EchoRequestSchema, { labels: Array.from({ length: count }, () => "") })),
  );
const json = (count: number): Buffer =>
  Buffer.from(JSON.stringify({ labels: Array.from({ length: count }, () => "") }));
const framed = (flags: number, message: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

const post = (headers: Record<string, string>, body: Buffer): Promise<Response> =>
  fetch(call("Echo"), {
    method: "POST",
    headers: { authorization: "Bearer alice", ...headers },
    body: new Uint8Array(body),
  });

const tooMany = "The request has more than 25000 values.";
/** Trailers of gRPC-Web have their message in percents. */
const isRefused = (text: string): boolean => text.includes(tooMany) || text.includes(encodeURIComponent(tooMany));

describe("a request through the router with more values than its type may have is refused before it is decoded", () => {
  test.each([
    // how, headers, the most, one more
    ["JSON", { "content-type": "application/json" }, json(24_998), json(24_999)],
    ["JSON with a character set", { "content-type": "application/json; charset=utf-8" }, json(24_998), json(24_999)],
    [
      "compressed JSON",
      { "content-type": "application/json", "content-encoding": "gzip" },
      gzipSync(json(24_998)),
      gzipSync(json(24_999)),
    ],
    [
      "gRPC-Web",
      { "content-type": "application/grpc-web+proto" },
      framed(0, binary(25_000)),
      framed(0, binary(25_001)),
    ],
    [
      "compressed gRPC-Web",
      { "content-type": "application/grpc-web+proto", "grpc-encoding": "gzip" },
      framed(1, gzipSync(binary(25_000))),
      framed(1, gzipSync(binary(25_001))),
    ],
    [
      "gRPC-Web in JSON",
      { "content-type": "application/grpc-web+json" },
      framed(0, json(24_998)),
      framed(0, json(24_999)),
    ],
    [
      "Connect with gzip",
      { "content-type": "application/proto", "content-encoding": "gzip" },
      gzipSync(binary(25_000)),
      gzipSync(binary(25_001)),
    ],
  ] as const)("%s", async (_how, headers, most, oneMore) => {
    const refusals = await Promise.all(
      [most, oneMore].map(async (body) => isRefused(await (await post(headers, body)).text())),
    );
    expect(refusals).toEqual([false, true]);
  });

  test.each([
    ["JSON", "json", json],
    ["the binary format", "proto", binary],
  ])("a GET with a small compressed message in %s", async (_how, encoding, encode) => {
    const message = encodeURIComponent(gzipSync(encode(100_000)).toString("base64url"));
    const query = `connect=v1&encoding=${encoding}&base64=1&compression=gzip&message=${message}`;
    const answer = await fetch(`${call("Echo")}?${query}`, { headers: { authorization: "Bearer alice" } });
    expect([answer.status, (await answer.text()).includes(tooMany)]).toEqual([400, true]);
  });
});
