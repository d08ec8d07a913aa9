import { connect } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { rounds } from "../support/rounds.ts";
import { startFixture } from "./support/fixture.ts";

/** Writes bytes on a connection of its own and counts the answers. */
const pipeline = (url: string, bytes: string) => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answered = 0;
  socket.on("data", (piece) => {
    answered += piece.toString("latin1").split("HTTP/1.1 ").length - 1;
  });
  socket.on("error", () => {});
  socket.write(bytes);
  onTestFinished(() => void socket.destroy());
  return { answered: () => answered };
};

test("a connection that pipelines has its share of calls, and others are answered meanwhile", async () => {
  const fixture = await startFixture();
  onTestFinished(() => fixture.stop());
  const seen = { running: 0, most: 0 };
  const share = Promise.withResolvers<void>();
  fixture.answer("GetBook", async function* () {
    seen.running += 1;
    seen.most = Math.max(seen.most, seen.running);
    if (seen.running === 8) share.resolve();
    await share.promise;
    await new Promise((resolve) => setImmediate(resolve));
    yield { body: Buffer.from("Emma") };
    seen.running -= 1;
  });
  const request = `GET /novels/emma HTTP/1.1\r\nhost: a\r\nuser-agent: ${"a".repeat(300)}\r\n\r\n`;
  const greedy = pipeline(fixture.url, request.repeat(rounds(20_000, 250_000)));
  await eventually(() => greedy.answered() > 100, "the connection is served");
  const response = await fixture.call("object-storage", "amz", { method: "GET", target: "/" });
  expect(response.status).toBe(200);
  await eventually(() => greedy.answered() > 2_000, "the connection is served on");
  expect(seen.most).toBe(8);
}, 60_000);

test("over its requests at once the gateway answers 503 in the API's words", async () => {
  const fixture = await startFixture({ requestsMax: 1 });
  onTestFinished(() => fixture.stop());
  const held = Promise.withResolvers<void>();
  fixture.answer("ListShelves", async () => {
    await held.promise;
    return {};
  });
  const first = fixture.call("object-storage", "amz", { method: "GET", target: "/" });
  await eventually(() => fixture.received.length === 1, "the first request is with its service");
  const second = await fixture.call("object-storage", "amz", { method: "GET", target: "/" });
  expect([second.status, second.headers["retry-after"]]).toEqual([503, "1"]);
  expect(second.body).toContain("<Code>SlowDown</Code>");
  held.resolve();
  expect((await first).status).toBe(200);
});

test("the admin port answers pipelined requests in turn", async () => {
  const fixture = await startFixture();
  onTestFinished(() => fixture.stop());
  const count = 250;
  const client = pipeline(fixture.adminUrl, "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n".repeat(count));
  await eventually(() => client.answered() === count, "all are answered");
  expect(client.answered()).toBe(count);
});
