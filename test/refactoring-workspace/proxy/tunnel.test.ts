import { createHash } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";

import { describe, expect, onTestFinished, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import type { Proxied } from "./proxied.ts";
import { startProxied } from "./proxied.ts";

const acceptKey = (key: string): string =>
  createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");

/** An application whose backend speaks WebSocket and sends every short text back in upper case. */
const startEcho = async (sockets: Duplex[] = [], requestsMax = 100): Promise<Proxied> => {
  const proxied = await startProxied(undefined, { proxyLimits: { requestsMax } });
  proxied.backend.server.on("upgrade", (request, socket, head) => {
    sockets.push(socket);
    if (request.url === "/refused") {
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nno! ");
      return;
    }
    const accept = acceptKey(request.headers["sec-websocket-key"] ?? "");
    const fields = `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nX-Path: ${request.url}`;
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n\r\n`);
    if (head.length > 0) socket.unshift(head);
    socket.on("error", () => {});
    socket.on("data", (frame: Buffer) => {
      if ((frame[0] ?? 0) % 16 !== 1) {
        socket.end();
        return;
      }
      const mask = frame.subarray(2, 6);
      const message = Buffer.from(frame.subarray(6).map((byte, index) => byte ^ (mask[index % 4] ?? 0)));
      const answer = Buffer.from(message.toString().toUpperCase());
      socket.write(Buffer.concat([Buffer.of(0x81, answer.length), answer]));
    });
  });
  return proxied;
};

const upgradeOf = (url: string) =>
  httpRequest(url, {
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-key": "a2V5",
      "sec-websocket-version": "13",
    },
  });

const statusOf = async (to: string) => {
  const sent = upgradeOf(to);
  sent.end();
  const [answer] = await once(sent, "response");
  answer.resume();
  return answer.statusCode;
};

describe("a WebSocket", () => {
  test("goes through to the service and back", async () => {
    const { url } = await startEcho();
    const socket = new WebSocket(`${url.replace("http:", "ws:")}/chat?room=1`);
    await once(socket, "open");
    const answers: string[] = [];
    socket.addEventListener("message", ({ data }) => answers.push(String(data)));
    socket.send("hello");
    await eventually(() => answers.length === 1, "the first answer comes");
    socket.send("again");
    await eventually(() => answers.length === 2, "the second answer comes");
    expect(answers).toEqual(["HELLO", "AGAIN"]);
    socket.close();
    await once(socket, "close");
  });

  test("is opened at the path and with the fields that any request would have", async () => {
    const { url, backend } = await startEcho();
    const seen: Record<string, unknown> = {};
    backend.server.on("upgrade", (request) => Object.assign(seen, request.headers));
    const sent = upgradeOf(`${url}/chat?room=1`);
    sent.end();
    const [answer, socket] = await once(sent, "upgrade");
    expect([answer.statusCode, answer.headers["x-path"]]).toEqual([101, "/chat?room=1"]);
    expect(seen).toMatchObject({ host: new URL(backend.url).host, "x-forwarded-for": "127.0.0.1", via: "1.1 quartet" });
    socket.destroy();
  });

  test("ends at the service when the client ends it, and at the client when the service does", async () => {
    const sockets: Duplex[] = [];
    const { url } = await startEcho(sockets);
    const open = async () => {
      const sent = upgradeOf(`${url}/chat`);
      sent.end();
      const [, socket] = (await once(sent, "upgrade")) as [unknown, Duplex];
      return socket;
    };
    (await open()).destroy();
    await eventually(() => sockets[0]?.readableEnded || sockets[0]?.destroyed, "the service's socket ends");
    const second = await open();
    sockets[1]?.destroy();
    await once(second.resume(), "close");
    expect(second.destroyed).toBe(true);
  });

  test("that the service refuses is answered as the service answered", async () => {
    const { url } = await startEcho();
    const sent = upgradeOf(`${url}/refused`);
    sent.end();
    const [answer] = await once(sent, "response");
    expect([answer.statusCode, await text(answer)]).toEqual([403, "no! "]);
  });

  test("to a service that is away gets 502, and to no application 404", async () => {
    const { url, workspace, backend } = await startEcho();
    await backend.close();
    expect(await statusOf(`${url}/chat`)).toBe(502);
    expect(await statusOf(`${workspace.proxy.url}/nobody/prod/chat`)).toBe(404);
  });
});

test("an upgrade to something else is left aside and the request served", async () => {
  const { url } = await startProxied();
  const sent = httpRequest(`${url}/page`, { headers: { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c" } });
  sent.end();
  const [answer] = await once(sent, "response");
  expect(await text(answer)).toBe("monolith GET /page");
});

test("stopping the proxy ends open tunnels", async () => {
  const { url, workspace } = await startEcho();
  const sent = upgradeOf(`${url}/chat`);
  sent.end();
  const [, socket] = (await once(sent, "upgrade")) as [unknown, Duplex];
  await workspace.proxy.stop();
  await once(socket.resume(), "close");
  expect(socket.destroyed).toBe(true);
});

test("one address has three quarters of all tunnels, and further ones when others of it have ended", async () => {
  const { url } = await startEcho([], 8);
  const open: Duplex[] = [];
  for (let count = 0; count < 6; count += 1) {
    const sent = upgradeOf(`${url}/chat`);
    sent.end();
    const [, socket] = (await once(sent, "upgrade")) as [unknown, Duplex];
    open.push(socket);
  }
  const refused = upgradeOf(`${url}/chat`);
  refused.end();
  const [answer] = await once(refused, "response");
  expect([answer.statusCode, JSON.parse(await text(answer)).message]).toEqual([
    503,
    "Too many WebSockets are open from this address; try again later.",
  ]);
  open[0]?.destroy();
  await eventually(async () => (await statusOf(`${url}/refused`)) === 403, "there is a place for another one");
  for (const socket of open) socket.destroy();
});

test("a client that keeps its side of a refused upgrade open holds no place", async () => {
  const { url } = await startEcho([], 1);
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.write(`GET /nobody/prod/chat HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`);
  await once(socket.resume(), "end");
  const isServed = eventually(async () => (await fetch(`${url}/page`)).status === 200, "the place is free again");
  expect(await isServed).toBe(true);
});
