import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";

import { expect, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { startProxied } from "./proxied.ts";

/** A service with one connection, which answers `/endless` without end. */
const startScarce = () =>
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
    { upstreamLimits: { connectionsMax: 1 }, proxyLimits: { clientStallMs: 150 } },
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
