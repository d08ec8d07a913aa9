import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";

import { buildConnector } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";

import { HttpExchange } from "../../../services/kit/outgoing/http-exchange.ts";
import { OriginClients } from "../../../services/kit/outgoing/origin-clients.ts";
import { eventually } from "../../support/eventually.ts";
import { certifyByItself } from "../../support/certificates.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const listen = async (server: Server, scheme: "http" | "https"): Promise<string> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const tlsFiles = async () => {
  const { certificate, key } = await certifyByItself(await temporaryDirectory(), "endpoint");
  return { cert: await readFile(certificate), key: await readFile(key) };
};

/** The clients of an origin, the connections that they have made and ended, and posts by them. */
const openClients = (origin: string) => {
  const counts = { connected: 0, disconnected: 0, unused: 0 };
  const clients = new OriginClients(origin, {
    client: { keepAliveTimeout: 500 },
    connect: buildConnector({ rejectUnauthorized: false }),
    socketsMax: 64,
    socketMsMax: 60_000,
    onConnect: () => (counts.connected += 1),
    onDisconnect: () => (counts.disconnected += 1),
    onUnused: () => (counts.unused += 1),
  });
  onTestFinished(() => clients.destroy(new Error("the test has ended")));
  const post = (path = "/", headers: Readonly<Record<string, string>> = {}) => {
    const bounds = { bodyBytesMax: 0, answerMsMax: 5_000 };
    const exchange = new HttpExchange(bounds, new AbortController().signal, () => false);
    clients.dispatch({ origin, path, method: "POST", headers, body: "{}" }, exchange);
    return exchange.answer;
  };
  return { counts, post };
};

describe("the connections to an origin", () => {
  test("are used again, the one that became free last first, and end when they are not needed", async () => {
    const answers: (() => void)[] = [];
    const portsOf: number[] = [];
    const origin = await listen(
      createServer((request, response) => {
        portsOf.push(request.socket.remotePort ?? 0);
        request.resume();
        if (request.url === "/held") answers.push(() => response.end());
        else response.end();
      }),
      "http",
    );
    const { counts, post } = openClients(origin);
    const held = Array.from({ length: 3 }, () => post("/held"));
    await eventually(() => answers.length === 3, "all are asked");
    for (const answer of answers) answer();
    await Promise.all(held);
    for (let n = 0; n < 10; n += 1) expect((await post()).status).toBe(200);
    // A request that is made in the same turn as the end of another one may need a connection more.
    expect(counts.connected).toBeLessThanOrEqual(4);
    expect(new Set(portsOf.slice(3)).size).toBeLessThanOrEqual(2);
    await eventually(() => counts.disconnected === counts.connected, "all have ended");
    expect(counts.unused).toBe(1);
    expect((await post()).status).toBe(200);
  });

  test("remain usable after requests that are refused before they are sent", async () => {
    const origin = await listen(
      createServer((request, response) => void request.resume().on("end", () => response.end())),
      "http",
    );
    const { counts, post } = openClients(origin);
    await post();
    for (let n = 0; n < 10; n += 1)
      await expect(post("/", { "a header": "x" })).rejects.toMatchObject({ code: "UND_ERR_INVALID_ARG" });
    await post();
    expect(counts.connected).toBeLessThanOrEqual(2);
  });

  test("are one where the endpoint takes many requests on it", async () => {
    const files = await tlsFiles();
    let asked = 0;
    const answers: (() => void)[] = [];
    const server = createSecureServer(files, (_request, response) => {
      asked += 1;
      answers.push(() => response.end());
    });
    const { counts, post } = openClients(await listen(server, "https"));
    const posts = Array.from({ length: 30 }, () => post());
    await eventually(() => asked === 30, "all are asked at the same time");
    expect(counts.connected).toBe(1);
    for (const answer of answers) answer();
    for (const { status } of await Promise.all(posts)) expect(status).toBe(200);
  });

  test("are as many as requests where it does not", async () => {
    const files = await tlsFiles();
    const answers: (() => void)[] = [];
    const server = createTlsServer(files, (_request, response) => answers.push(() => response.end()));
    const { counts, post } = openClients(await listen(server, "https"));
    const posts = Array.from({ length: 5 }, () => post());
    await eventually(() => answers.length === 5, "all are asked at the same time");
    expect(counts.connected).toBe(5);
    for (const answer of answers) answer();
    await Promise.all(posts);
  });

  test("that cannot be made fail the requests that wait for them", async () => {
    const server = createServer(() => {});
    const origin = await listen(server, "http");
    server.close();
    const { counts, post } = openClients(origin.replace("http:", "https:"));
    const posts = await Promise.allSettled([post(), post(), post()]);
    expect(posts.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(counts).toMatchObject({ connected: 0, unused: 1 });
  });
});
