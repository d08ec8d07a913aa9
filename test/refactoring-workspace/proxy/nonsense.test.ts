import type { ServerResponse } from "node:http";
import { connect } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { rounds } from "../../support/rounds.ts";
import type { SeededRandom } from "../../kit/store/seeded-random.ts";
import { seededRandom } from "../../kit/store/seeded-random.ts";
import { startProxied } from "./proxied.ts";

const lines = [
  "Host: a",
  "Connection: upgrade, \u0001",
  "Upgrade: websocket",
  "Transfer-Encoding: chunked",
  "Content-Length: 5",
  "Content-Length: -1",
  "Expect: 100-continue",
  "Via: 1.1 quartet,,,",
  "X-Forwarded-For: \u00e9",
  ": empty",
  "Cookie: a=\u0000",
];

const oddCharacters = "/ . % 2 e E f F 5 c \\ ; ? # * :".split(" ");

const path = (random: SeededRandom, base: string): string =>
  base +
  Array.from({ length: random.below(12) }, () => random.pick([...oddCharacters, "\u00e9", "{x}", "//"])).join("");

/** A request that begins like one and goes wrong somewhere, or does not. */
const nonsense = (random: SeededRandom, base: string): Buffer => {
  const method = random.pick(["GET", "POST", "HEAD", "OPTIONS", "CONNECT", "BREW", "get", ""]);
  const target = random.chance(0.9) ? path(random, random.pick([base, "", "http://h", "*"])) : "x".repeat(70_000);
  const header = Array.from({ length: random.below(6) }, () => random.pick(lines)).join("\r\n");
  const body = random.pick(["", "hello", "5\r\nhello\r\n0\r\n\r\n", "zz\r\n", "\u0000\u0001"]);
  return Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n${body}`, "latin1");
};

test("of one connection that pipelines, eight requests are with the application at a time", async () => {
  const held: ServerResponse[] = [];
  const { url, workspace } = await startProxied((_request, response) => held.push(response));
  const { pathname } = new URL(url);
  const socket = connect(workspace.proxy.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.resume().write(`GET ${pathname}/a HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(20));
  await eventually(() => held.length === 8, "its share is with the application");
  const other = fetch(`${url}/b`);
  await eventually(() => held.length === 9, "another connection is served");
  held.pop()?.end("other");
  expect(await (await other).text()).toBe("other");
  expect(held).toHaveLength(8);
  held.shift()?.end();
  await eventually(() => held.length === 8, "the next one follows");
});

test("whatever a client sends, the proxy goes on serving others", async () => {
  const seed = 20_260_103;
  const random = seededRandom(seed);
  const { url, workspace } = await startProxied();
  const base = new URL(url).pathname;
  for (let round = 0; round < rounds(20, 2_000); round++) {
    const sockets = Array.from({ length: 10 }, () => {
      const socket = connect(workspace.proxy.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.end(nonsense(random, base));
      return new Promise((resolve) => socket.resume().once("close", resolve));
    });
    await Promise.all(sockets);
    const answer = await fetch(`${url}/round`);
    expect([seed, round, await answer.text()]).toEqual([seed, round, "monolith GET /round"]);
  }
});
