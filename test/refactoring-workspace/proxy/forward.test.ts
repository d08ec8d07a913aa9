import { createHash } from "node:crypto";
import { once } from "node:events";
import type { ClientRequest, IncomingMessage, RequestOptions, ServerResponse } from "node:http";
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";

import { describe, expect, onTestFinished, test } from "vitest";

import { eventually } from "../../support/eventually.ts";
import { startProxied } from "./proxied.ts";

const mebibyte = 1024 * 1024;

/** Sends a request as it is; answers when the answer begins. */
const begin = (url: string, options: RequestOptions = {}): ClientRequest =>
  httpRequest(url, { agent: false, ...options });

const answerTo = async (request: ClientRequest): Promise<IncomingMessage> => {
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  return answer;
};

const blocks = [1, 2, 3].map((value) => Buffer.alloc(mebibyte, value));

/** Pieces of a body that is nowhere whole. */
const pieces = function* (count: number): Iterable<Buffer> {
  for (let index = 0; index < count; index++) yield blocks[index % blocks.length] as Buffer;
};

const digestOf = async (stream: AsyncIterable<Buffer>): Promise<string> => {
  const hash = createHash("sha256");
  for await (const chunk of stream) hash.update(chunk);
  return hash.digest("hex");
};

/** Counts the bytes between the two ends of a body, which the proxy, the sockets and the streams at both ends hold. */
const createTransit = () => {
  let bytes = 0;
  let bytesMax = 0;
  return {
    bytesMax: () => bytesMax,
    sent: function* (body: Iterable<Buffer>): Iterable<Buffer> {
      for (const piece of body) {
        bytes += piece.length;
        bytesMax = Math.max(bytesMax, bytes);
        yield piece;
      }
    },
    received: async function* (body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
      for await (const piece of body) {
        bytes -= piece.length;
        yield piece;
      }
    },
  };
};

/** Waits until a number has not changed for a while, and answers it. */
const settled = async (read: () => number): Promise<number> => {
  let last = -1;
  let since = Date.now();
  return eventually(() => {
    if (read() !== last) [last, since] = [read(), Date.now()];
    return Date.now() - since > 300 ? last : undefined;
  }, "the number settles");
};

const failureOf = async (url: string) => {
  const answer = await fetch(url);
  return [answer.status, ((await answer.json()) as { message: string }).message];
};

/** A service that answers `/x` with these bytes. */
const answeringBytes = (answer: string, encoding: BufferEncoding) =>
  startProxied((request, response) => {
    if (request.url === "/x") response.socket?.end(Buffer.from(answer, encoding));
    else response.end();
  });

describe("an odd answer", () => {
  // status line | encoding | what the client gets
  test.each([
    ["200 Gr\u00fc\u00dfe", "utf8", "200 Gr\u00c3\u00bc\u00c3\u009fe hi"],
    ["200 a\u0001b", "latin1", "200 a b hi"],
    ["299 \u65e5\u672c", "utf8", "299 \u00e6\u0097\u00a5\u00e6\u009c\u00ac hi"],
  ] as const)("with the status line %j reaches the client", async (status, encoding, expected) => {
    const { url } = await answeringBytes(`HTTP/1.1 ${status}\r\ncontent-length: 2\r\n\r\nhi`, encoding);
    const sent = begin(`${url}/x`);
    sent.end();
    const answer = await answerTo(sent);
    expect(`${answer.statusCode} ${answer.statusMessage} ${await text(answer)}`).toBe(expected);
  });

  test("brings its trailers, but none that say how the message is read", async () => {
    const lines = ["x-sum: \u65e5", "content-type: text/plain", "te: trailers"].join("\r\n");
    const { url } = await answeringBytes(
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n${lines}\r\n\r\n`,
      "utf8",
    );
    const sent = begin(`${url}/x`);
    sent.end();
    const answer = await answerTo(sent);
    expect(await text(answer)).toBe("hi");
    expect(answer.trailers).toEqual({ "x-sum": "\u00e6\u0097\u00a5" });
  });
});

describe("a request", () => {
  test("reaches the service with method, path, query, fields and body as they came", async () => {
    const seen: { url?: string; method?: string; rawHeaders?: string[]; body?: string } = {};
    const { url, workspace, backend } = await startProxied(async (request, response) => {
      seen.body = await text(request);
      Object.assign(seen, { url: request.url, method: request.method, rawHeaders: request.rawHeaders });
      response.end();
    });
    const headers = ["Host", `127.0.0.1:${workspace.proxy.port}`, "X-One", "1", "x-one", "2", "Content-Length", "5"];
    const sent = begin(`${url}/a%2Fb//c/?q=1&q=%20`, { method: "PATCH", headers: headers as never });
    sent.end("hello");
    expect((await answerTo(sent)).statusCode).toBe(200);
    expect(seen).toMatchObject({ url: "/a%2Fb//c/?q=1&q=%20", method: "PATCH", body: "hello" });
    const at = (name: string) => (seen.rawHeaders ?? []).filter((_text, index, all) => all[index - 1] === name);
    expect(at("X-One")).toEqual(["1"]);
    expect(at("x-one")).toEqual(["2"]);
    expect(at("host")).toEqual([`127.0.0.1:${backend.port}`]);
    expect(at("x-forwarded-for")).toEqual(["127.0.0.1"]);
    expect(at("x-forwarded-host")).toEqual([`127.0.0.1:${workspace.proxy.port}`]);
    expect(at("x-forwarded-port")).toEqual([String(workspace.proxy.port)]);
    expect(at("x-forwarded-proto")).toEqual(["http"]);
  });

  test("is answered on a host of the application's own as well", async () => {
    const { url, workspace } = await startProxied();
    const [, apiGatewayId, stage] = new URL(url).pathname.split("/");
    const sent = begin(`${workspace.proxy.url}/${stage}/cart`, { headers: { host: `${apiGatewayId}.localhost:8081` } });
    sent.end();
    expect(await text(await answerTo(sent))).toBe("monolith GET /cart");
  });

  test("with Expect gets its 100 only when the service takes the body", async () => {
    const { url } = await startProxied(async (request, response) =>
      response.end(`took ${(await text(request)).length}`),
    );
    const sent = begin(`${url}/upload`, { method: "POST", headers: { expect: "100-continue", "content-length": "3" } });
    sent.flushHeaders();
    await once(sent, "continue");
    sent.end("abc");
    expect(await text(await answerTo(sent))).toBe("took 3");
  });

  test("with Expect gets its refusal and no 100 when no application takes it", async () => {
    const { workspace } = await startProxied();
    let continued = false;
    const headers = { expect: "100-continue", "content-length": "3" };
    const sent = begin(`${workspace.proxy.url}/nobody/prod`, { method: "POST", headers });
    sent.on("continue", () => (continued = true));
    sent.flushHeaders();
    const answer = await answerTo(sent);
    expect([answer.statusCode, continued]).toEqual([404, false]);
    sent.destroy();
  });

  test("streams a large body to the service without holding it", async () => {
    const transit = createTransit();
    const { url } = await startProxied(async (request, response) =>
      response.end(await digestOf(transit.received(request))),
    );
    const sent = begin(`${url}/upload`, { method: "PUT" });
    const answered = answerTo(sent);
    await pipeline(Readable.from(transit.sent(pieces(256))), sent);
    expect(await text(await answered)).toBe(await digestOf(Readable.from(pieces(256))));
    expect(transit.bytesMax()).toBeLessThan(32 * mebibyte);
  });

  test("is held back when the service takes nothing", async () => {
    const { url } = await startProxied((request) => request.pause());
    const sent = begin(`${url}/upload`, { method: "PUT" });
    sent.on("error", () => {});
    let taken = 0;
    const write = () => {
      while (sent.write(Buffer.alloc(mebibyte))) taken += mebibyte;
      taken += mebibyte;
    };
    sent.on("drain", write);
    write();
    expect(await settled(() => taken)).toBeLessThan(64 * mebibyte);
    sent.destroy();
  });

  test("that its client gives up ends at the service", async () => {
    let ended = false;
    const { url, backend } = await startProxied((request) => {
      request.on("close", () => (ended = true));
      request.resume();
    });
    const sent = begin(`${url}/slow`, { method: "POST" });
    sent.on("error", () => {});
    sent.write("half");
    await eventually(() => backend.asked.includes("POST /slow"), "the request arrives");
    sent.destroy();
    expect(await eventually(() => ended, "the service's side ends")).toBe(true);
  });

  test("whose path could be taken for another is refused", async () => {
    const { url, workspace, backend } = await startProxied();
    const base = new URL(url).pathname;
    for (const path of [`${base}/../x`, `${base}/%2e%2e/x`, `${base}/a%2F..%2Fb`, `${base}/a%00`, "/%2e%2e/"]) {
      const sent = begin(workspace.proxy.url, { path });
      sent.end();
      const answer = await answerTo(sent);
      expect([path, answer.statusCode]).toEqual([path, 400]);
      expect(JSON.parse(await text(answer))).toEqual({
        message: expect.stringMatching(/^The request is refused: the path has /),
        requestId: answer.headers["x-request-id"],
      });
    }
    expect(backend.asked).toEqual(["GET /"]);
  });

  test("is refused where there is no application, stage or room", async () => {
    const { url, workspace } = await startProxied(undefined, { proxyLimits: { headerBytesMax: 8 * 1024 } });
    const [, apiGatewayId] = new URL(url).pathname.split("/");
    const statusOf = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(`${workspace.proxy.url}${path}`, { headers })).status;
    expect(await statusOf("/")).toBe(404);
    expect(await statusOf("/0000000000/prod/x")).toBe(404);
    expect(await statusOf(`/${apiGatewayId}/test/x`)).toBe(404);
    expect(await statusOf(`/${apiGatewayId}`)).toBe(404);
    expect(await statusOf(`/${apiGatewayId}/prod/x`)).toBe(200);
    expect(await statusOf(`/${apiGatewayId}/prod/x`, { large: "x".repeat(8 * 1024) })).toBe(431);
    expect(await statusOf(`/${apiGatewayId}/prod/x`, { via: "1.1 quartet, ".repeat(7) + "1.1 quartet" })).toBe(508);
  });

  test("over the number of requests at once gets 503 and a time to wait", async () => {
    const { url, backend } = await startProxied((_request, response) => response.writeHead(200).flushHeaders(), {
      proxyLimits: { requestsMax: 1 },
    });
    const first = begin(`${url}/first`).end();
    await answerTo(first);
    expect(backend.asked).toContain("GET /first");
    const second = await fetch(`${url}/second`);
    expect([second.status, second.headers.get("retry-after")]).toEqual([503, "1"]);
    first.destroy();
  });

  test("waits while its connection has its share of requests", async () => {
    const held: ServerResponse[] = [];
    const { url, backend } = await startProxied((_request, response) => held.push(response));
    const { hostname, port, pathname } = new URL(url);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    for (let at = 0; at < 9; at += 1) socket.write(`GET ${pathname}/${at} HTTP/1.1\r\nhost: a\r\n\r\n`);
    await eventually(() => held.length === 8, "eight requests are forwarded");
    expect(backend.asked).not.toContain("GET /8");
    held[0]?.end();
    await eventually(() => backend.asked.includes("GET /8"), "the ninth is forwarded");
  });
});

describe("an answer", () => {
  test("reaches the client with status, reason, repeated fields and coding as they came", async () => {
    const { url } = await startProxied((_request, response) => {
      const headers = ["Set-Cookie", "a=1", "Set-Cookie", "b=2", "Content-Encoding", "gzip", "X-Hop", "1"];
      response.writeHead(299, "Fine", [...headers, "Connection", "x-hop", "Date", "Thu, 01 Jan 1970 00:00:00 GMT"]);
      response.end("not gzip at all");
    });
    const sent = begin(`${url}/`).end();
    const answer = await answerTo(sent);
    expect([answer.statusCode, answer.statusMessage]).toEqual([299, "Fine"]);
    expect(answer.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    expect(answer.headers).toMatchObject({ "content-encoding": "gzip", date: "Thu, 01 Jan 1970 00:00:00 GMT" });
    expect(answer.headers["x-hop"]).toBeUndefined();
    expect(await text(answer)).toBe("not gzip at all");
  });

  test("keeps its trailers", async () => {
    const { url } = await startProxied((_request, response) => {
      response.writeHead(200, { trailer: "x-digest" });
      response.write("body");
      response.addTrailers({ "x-digest": "abc" });
      response.end();
    });
    const answer = await answerTo(begin(`${url}/`, { headers: { te: "trailers" } }).end());
    expect(await text(answer)).toBe("body");
    expect(answer.trailers).toEqual({ "x-digest": "abc" });
  });

  test.each([
    // method, status, told length
    ["HEAD", 200, "1000000"],
    ["GET", 204, undefined],
    ["GET", 304, undefined],
    ["HEAD", 404, undefined],
  ])("without a body ends at once: %s %i", async (method, status, length) => {
    const { url } = await startProxied((_request, response) => {
      response.writeHead(status, length === undefined ? {} : { "content-length": length }).end();
    });
    const agent = new Agent({ keepAlive: true });
    const answers = [];
    for (let round = 0; round < 3; round++) {
      const answer = await answerTo(begin(`${url}/`, { method, agent }).end());
      expect(await text(answer)).toBe("");
      answers.push([answer.statusCode, answer.headers["content-length"]]);
    }
    agent.destroy();
    expect(answers).toEqual([
      [status, length],
      [status, length],
      [status, length],
    ]);
  });

  test("streams a large body to the client without holding it", async () => {
    const transit = createTransit();
    const { url } = await startProxied((_request, response) =>
      pipeline(Readable.from(transit.sent(pieces(256))), response),
    );
    const answer = await answerTo(begin(`${url}/`).end());
    expect(await digestOf(transit.received(answer))).toBe(await digestOf(Readable.from(pieces(256))));
    expect(transit.bytesMax()).toBeLessThan(32 * mebibyte);
  });

  test("is held back when the client takes nothing", async () => {
    let given = 0;
    const { url } = await startProxied((_request, response) => {
      const write = () => {
        while (response.write(Buffer.alloc(mebibyte))) given += mebibyte;
        given += mebibyte;
      };
      response.on("drain", write);
      write();
    });
    const sent = begin(`${url}/`);
    sent.on("response", (answer) => answer.pause());
    sent.on("error", () => {});
    sent.end();
    expect(await settled(() => given)).toBeLessThan(64 * mebibyte);
    sent.destroy();
  });

  test("arrives piece by piece as the service writes it", async () => {
    const answers: ServerResponse[] = [];
    const { url } = await startProxied((_request, response) => {
      answers.push(response);
      response.write("data: 1\n\n");
    });
    const answer = await answerTo(begin(`${url}/events`).end());
    const [first] = (await once(answer, "data")) as [Buffer];
    expect(first.toString()).toBe("data: 1\n\n");
    answers[0]?.end("data: 2\n\n");
    const [second] = (await once(answer, "data")) as [Buffer];
    expect(second.toString()).toBe("data: 2\n\n");
  });

  test("that comes before the body was sent reaches the client", async () => {
    const { url } = await startProxied((_request, response) => {
      response.writeHead(413).end("too much");
    });
    const sent = begin(`${url}/upload`, { method: "PUT", headers: { "content-length": String(512 * mebibyte) } });
    sent.on("error", () => {});
    sent.write(Buffer.alloc(mebibyte));
    const answer = await answerTo(sent);
    expect([answer.statusCode, await text(answer)]).toEqual([413, "too much"]);
    sent.destroy();
  });
});

describe("a service that fails", () => {
  test("by not listening is told as 502", async () => {
    const { url, backend } = await startProxied();
    await backend.close();
    expect(await failureOf(`${url}/`)).toEqual([502, "The service could not be reached."]);
  });

  test("by resetting the connection before an answer is told as 502, after a second try for a request without effects", async () => {
    const { url, backend } = await startProxied((request) => request.socket.resetAndDestroy());
    const expected = [502, "The service ended the connection without a valid answer."];
    expect(await failureOf(`${url}/x`)).toEqual(expected);
    expect(backend.asked).toEqual(["GET /", "GET /x", "GET /x"]);
    const posted = await fetch(`${url}/y`, { method: "POST", body: "once" });
    expect(posted.status).toBe(502);
    expect(backend.asked.slice(3)).toEqual(["POST /y"]);
  });

  test("by talking something else than HTTP is told as 502", async () => {
    const { url } = await startProxied((request) => request.socket.end("SSH-2.0-nothing\r\n"));
    expect((await failureOf(`${url}/`))[0]).toBe(502);
  });

  test("by not answering in time is told as 504", async () => {
    const { url } = await startProxied(() => {}, { upstreamLimits: { firstByteTimeoutMs: 100 } });
    expect(await failureOf(`${url}/`)).toEqual([504, "The service did not answer in time."]);
  });

  test("in the middle of an answer cuts the client's connection", async () => {
    const { url } = await startProxied((request, response) => {
      response.writeHead(200, { "content-length": "10" });
      response.write("half", () => request.socket.resetAndDestroy());
    });
    const answer = await answerTo(begin(`${url}/`).end());
    await expect(text(answer)).rejects.toThrow("aborted");
  });

  test("leaves the proxy ready for the next request", async () => {
    let isBroken = true;
    const { url } = await startProxied((request, response) => {
      if (isBroken) request.socket.destroy();
      else response.end("well again");
    });
    expect((await fetch(`${url}/`)).status).toBe(502);
    isBroken = false;
    expect(await (await fetch(`${url}/`)).text()).toBe("well again");
  });
});

test("a client that sends nonsense gets 400 and disturbs nobody", async () => {
  const { url, workspace } = await startProxied();
  const socket = connect(workspace.proxy.port, "127.0.0.1");
  socket.end("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n");
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  expect((await fetch(`${url}/`)).status).toBe(200);
});

test("a proxy that is stopped closes a kept connection after its last answer", async () => {
  let answer: (() => void) | undefined;
  const { url, workspace } = await startProxied(
    (_request, response) => {
      answer = () => response.end("last");
    },
    { proxyLimits: { keepAliveMs: 3_600_000 } },
  );
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const request = httpRequest(url, { agent }).end();
  await eventually(() => answer !== undefined, "the service has the request");
  const stopped = workspace.proxy.stop(3_600_000);
  answer?.();
  expect(await text(await answerTo(request))).toBe("last");
  await stopped;
}, 10_000);

describe("a request for a service whose connections are all in use", () => {
  /** A service with one connection, on which the first request waits for the test. */
  const startHeld = async (upstreamLimits: { readonly waitMsMax?: number; readonly waitingMax?: number }) => {
    const held: ServerResponse[] = [];
    const proxied = await startProxied(
      (request, response) => {
        if (request.url === "/held") held.push(response);
        else response.end("free");
      },
      { upstreamLimits: { connectionsMax: 1, ...upstreamLimits } },
    );
    const first = fetch(`${proxied.url}/held`);
    await eventually(() => held.length === 1, "the connection is in use");
    const release = async () => {
      held[0]?.end("held");
      return (await first).text();
    };
    return { ...proxied, release };
  };

  test("gets 503 when none is free in time, and the next one is served", async () => {
    const { url, release } = await startHeld({ waitMsMax: 100 });
    const late = await fetch(url, { method: "POST", body: "b".repeat(100_000) });
    expect([late.status, late.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(((await late.json()) as { message: string }).message).toMatch(/^All connections to the service/);
    expect(await release()).toBe("held");
    expect(await (await fetch(url)).text()).toBe("free");
  });

  test("gets 503 at once when as many wait as may, who are served", async () => {
    const { url, release } = await startHeld({ waitingMax: 1 });
    const answers = [fetch(url), fetch(url)].map(async (each) => (await each).status);
    expect(await Promise.race(answers)).toBe(503);
    expect(await release()).toBe("held");
    expect(new Set(await Promise.all(answers))).toEqual(new Set([200, 503]));
  });
});
