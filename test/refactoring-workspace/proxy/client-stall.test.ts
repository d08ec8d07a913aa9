import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { setInterval } from "node:timers/promises";

import { expect, onTestFinished, test } from "vitest";

import { ClientStalledError, withoutStalls } from "../../../services/refactoring-workspace/proxy/client-stall.ts";
import { eventually } from "../../support/eventually.ts";
import { startProxied } from "./proxied.ts";

/** A service with one connection, which answers `/endless` without end. */
const startScarce = (clientStallMs = 150) =>
  startProxied(
    (request, response) => {
      if (request.url !== "/endless") return request.resume().once("end", () => response.end("served"));
      response.on("error", () => {});
      const pour = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", pour);
      return pour();
    },
    { upstreamLimits: { connectionsMax: 1 }, proxyLimits: { clientStallMs } },
  );

test("a client that sends no more of a body gets 408, and the connection to the service is for others", async () => {
  const { url } = await startScarce();
  const request = httpRequest(url, { method: "POST", headers: { "content-length": 10 }, agent: false });
  request.on("error", () => {}).write("half");
  const other = fetch(url);
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  expect([answer.statusCode, JSON.parse(await text(answer)).message]).toEqual([
    408,
    "The rest of the request did not arrive in time.",
  ]);
  expect(await (await other).text()).toBe("served");
  request.destroy();
});

test("a client that does not read its answer is cut off, and the connection to the service is for others", async () => {
  const { url } = await startScarce();
  const request = httpRequest(`${url}/endless`, { agent: false });
  request.on("error", () => {}).end();
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  let isCut = false;
  answer.on("error", () => {
    isCut = true;
  });
  expect(await (await fetch(url)).text()).toBe("served");
  answer.resume();
  await eventually(() => isCut, "the client sees that its answer was cut");
});

test("a client that does not read the end of its answer gives up its place", async () => {
  const { url } = await startProxied(
    (request, response) => response.end(request.url === "/large" ? Buffer.alloc(32 * 1024 * 1024) : "served"),
    { proxyLimits: { clientStallMs: 150, requestsMax: 1 } },
  );
  const request = httpRequest(`${url}/large`, { agent: false });
  request.on("error", () => {}).end();
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  answer.on("error", () => {});
  const isServed = eventually(async () => (await fetch(url)).status === 200, "the next request is served");
  expect(await isServed).toBe(true);
  request.destroy();
});

test("a client that sends a byte now and then gives its connection up when others wait for it, and not before", async () => {
  const { url } = await startScarce(1_000);
  const request = httpRequest(url, { method: "POST", headers: { "content-length": 10_000 }, agent: false });
  request.on("error", () => {});
  const answered = once(request, "response") as Promise<[IncomingMessage]>;
  let sent = 0;
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const dribble = async (): Promise<void> => {
    for await (const _tick of setInterval(40, undefined, { signal: ending.signal })) {
      request.write("x");
      sent += 1;
    }
  };
  dribble().catch(() => {});
  await eventually(() => sent > 40, "the client was waited for much longer than a stall may take");
  const other = fetch(url);
  const [answer] = await answered;
  expect([answer.statusCode, await (await other).text()]).toEqual([408, "served"]);
  request.destroy();
});

test("the body of a function is not waited for beyond a stall if each piece of it is a byte", async () => {
  const bytes = async function* () {
    for await (const _tick of setInterval(40)) yield Buffer.of(1);
  };
  await expect(Array.fromAsync(withoutStalls(bytes(), 200))).rejects.toThrow(ClientStalledError);
});
