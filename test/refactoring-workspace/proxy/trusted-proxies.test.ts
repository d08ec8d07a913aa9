import type { IncomingHttpHeaders } from "node:http";
import { request as httpRequest } from "node:http";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

import { expect, test } from "vitest";

import { TrustedProxies } from "../../../services/kit/identity/trusted-proxies.ts";
import type { Proxied } from "./proxied.ts";
import { startProxied } from "./proxied.ts";

const trusting = { trustedProxies: new TrustedProxies(["127.0.0.1"]) };

/** What the service behind the proxy is told of the client. */
const told = async ({ url }: Proxied, headers: Record<string, string>): Promise<IncomingHttpHeaders> => {
  const sent = httpRequest(`${url}/a`, { headers, agent: false }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const received = JSON.parse(await text(answer)) as IncomingHttpHeaders;
  return Object.fromEntries(Object.entries(received).filter(([name]) => name.startsWith("x-forwarded-")));
};

const startTelling = (options = {}): Promise<Proxied> =>
  startProxied((request, response) => response.end(JSON.stringify(request.headers)), options);

const ofTerminator = {
  host: "inner:1",
  "x-forwarded-for": "198.51.100.1",
  "x-forwarded-host": "shop.example",
  "x-forwarded-proto": "https",
};

test("a service is told what a trusted proxy says of its client", async () => {
  const proxied = await startTelling(trusting);
  expect(await told(proxied, ofTerminator)).toEqual({
    "x-forwarded-for": "198.51.100.1, 127.0.0.1",
    "x-forwarded-host": "shop.example",
    "x-forwarded-port": "443",
    "x-forwarded-proto": "https",
  });
  expect(await told(proxied, { ...ofTerminator, "x-forwarded-port": "8443" })).toMatchObject({
    "x-forwarded-port": "8443",
  });
  expect(await told(proxied, { host: "shop.example:81", "x-forwarded-proto": "http" })).toEqual({
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-host": "shop.example:81",
    "x-forwarded-port": "81",
    "x-forwarded-proto": "http",
  });
});

test("a service is told what anybody else's connection shows, after the addresses that were sent", async () => {
  const proxied = await startTelling();
  expect(await told(proxied, ofTerminator)).toEqual({
    "x-forwarded-for": "198.51.100.1, 127.0.0.1",
    "x-forwarded-host": "inner:1",
    "x-forwarded-port": String(proxied.workspace.proxy.port),
    "x-forwarded-proto": "http",
  });
});

test("the tunnels of each client of a trusted proxy count apart", async () => {
  const proxied = await startProxied(undefined, { ...trusting, proxyLimits: { requestsMax: 4 } });
  proxied.backend.server.on("upgrade", (_request, socket) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  });
  const upgrade = async (client: string): Promise<number | undefined> => {
    const headers = { connection: "Upgrade", upgrade: "websocket", "x-forwarded-for": client };
    const sent = httpRequest(proxied.url, { headers, agent: false });
    sent.on("error", () => {}).end();
    const [answer] = (await Promise.race([once(sent, "upgrade"), once(sent, "response")])) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  const statuses: (number | undefined)[] = [];
  for (const client of ["198.51.100.1", "198.51.100.1", "198.51.100.1", "198.51.100.1", "198.51.100.2"])
    statuses.push(await upgrade(client));
  expect(statuses).toEqual([101, 101, 101, 503, 101]);
});
