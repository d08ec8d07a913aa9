import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { WholeRequests } from "../../../services/kit/client/whole-requests.ts";
import { startTestServer } from "../server/test-service.ts";

const { sum } = TestService.method;

const call = async (address: string, engine: "connect" | "grpc") => {
  const transport = createTransport({ address, engine, token: async () => "alice", retry: { delayMsMin: 1 } });
  onTestFinished(() => transport.close());
  const requests = new WholeRequests([{ number: 20 }, { number: 22 }]);
  const answer = await transport.stream(sum, undefined, undefined, undefined, requests);
  return Array.fromAsync(answer.message, (message) => message.sum);
};

test.each(["connect", "grpc"] as const)(
  "known requests are answered as others are by the %s engine",
  async (engine) => {
    const { server } = await startTestServer();
    onTestFinished(() => server.stop(0));
    expect(await call(server.url, engine)).toEqual([42n]);
  },
);

test("known requests are one body of a known length, and so is an answer with one message", async () => {
  const { server } = await startTestServer();
  onTestFinished(() => server.stop(0));
  const lengths: (string | null | undefined)[] = [];
  const passOn = async (path: string, body: Buffer): Promise<Uint8Array> => {
    const headers = { authorization: "Bearer alice", "content-type": "application/connect+proto" };
    const answer = await fetch(server.url + path, { method: "POST", headers, body });
    lengths.push(answer.headers.get("content-length"));
    return answer.bytes();
  };
  const between = createServer((request, response) => {
    lengths.push(request.headers["content-length"]);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      response.writeHead(200, { "content-type": "application/connect+proto" });
      void passOn(request.url ?? "", Buffer.concat(chunks)).then((bytes) => response.end(bytes));
    });
  });
  onTestFinished(() => void between.close());
  await once(between.listen(0, "127.0.0.1"), "listening");
  expect(await call(`http://127.0.0.1:${(between.address() as AddressInfo).port}`, "connect")).toEqual([42n]);
  // Two frames with a member of two bytes; a frame with two members of two bytes, and the end.
  expect(lengths).toEqual(["14", "16"]);
});

test("known requests are sent again, all of them, where no handler saw them", async () => {
  const { server } = await startTestServer();
  onTestFinished(() => server.stop(0));
  // Nobody listens at the first address.
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, "close");
  expect(await call(`http://127.0.0.1:${port},${server.url}`, "connect")).toEqual([42n]);
});
