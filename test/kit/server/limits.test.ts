import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import type { ClientHttp2Stream } from "node:http2";
import { connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";

import { create, toBinary } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { Code, createClient } from "@connectrpc/connect";
import { afterEach, describe, expect, test } from "vitest";

import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { Health, HealthCheckResponse_ServingStatus } from "../../../gen/grpc/health/v1/health_pb.ts";
import { EchoRequestSchema, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import type { RunningServer, ServerOptions } from "../../../services/kit/server/server.ts";
import { eventually } from "../../support/eventually.ts";
import { grpcCall } from "./raw-http2.ts";
import type { TestApp } from "./test-service.ts";
import { startTestServer } from "./test-service.ts";
import type { Way } from "./transports.ts";
import { collect, listenFor, sent, ways } from "./transports.ts";

let server: RunningServer;
let app: TestApp;

const start = async (limits: ServerOptions["limits"] = {}, way: Pick<Way, "isLocal"> = {}): Promise<void> => {
  ({ server, app } = await startTestServer({ limits, ...listenFor(way) }));
};
afterEach(() => server.stop(0));

/** Sends a POST of the Connect protocol whose body is what `send` writes; answers the status and the body. */
const post = async (
  method: string,
  headers: Record<string, string>,
  send: (outgoing: ReturnType<typeof httpRequest>) => void,
): Promise<{ status: number | undefined; body: string }> => {
  const outgoing = httpRequest(`${server.url}/quartet.test.v1.TestService/${method}`, {
    method: "POST",
    headers: { "content-type": "application/proto", authorization: "Bearer alice", ...headers },
  });
  outgoing.on("error", () => {});
  send(outgoing);
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  const body = await text(answer);
  outgoing.destroy();
  return { status: answer.statusCode, body };
};

describe.each(ways.filter(({ name }) => name !== "connect-node Connect JSON by GET"))(
  "a call by $name",
  ({ open, isLocal }) => {
    test("is not counted any more once it has ended, well or not", async () => {
      await start({ concurrentCallsMax: 1, unaryMessageBytesMax: 1000, streamMessageBytesMax: 1000 }, { isLocal });
      const transport = open(server.url, "alice");
      const client = createClient(TestService, transport);
      const reasons: unknown[] = [];
      for (const bytes of [10, 1500, 10]) {
        const refused = await client.echo({ body: new Uint8Array(bytes) }).then(
          () => undefined,
          (error: ConnectError) => error.findDetails(ErrorInfoSchema)[0],
        );
        reasons.push(refused?.reason);
      }
      expect(reasons).toEqual([undefined, "TOO_LARGE", undefined]);
      await transport.close?.();
    });

    test("refuses a message over the limit of unary calls", async () => {
      await start({ unaryMessageBytesMax: 1000, streamMessageBytesMax: 1000 }, { isLocal });
      const transport = open(server.url, "alice");
      const client = createClient(TestService, transport);
      const refusal = await client
        .echo({ body: new Uint8Array(1500) })
        .catch((error: unknown) => error as ConnectError);
      expect(refusal).toMatchObject({ code: Code.ResourceExhausted });
      expect((refusal as ConnectError).findDetails(ErrorInfoSchema)).toMatchObject([
        { reason: "TOO_LARGE", metadata: { limit_bytes: "1000" } },
      ]);
      expect((await client.echo({ body: new Uint8Array(600) })).body.length).toBe(600);
      await transport.close?.();
    });

    test("without a token may send less", async () => {
      await start({}, { isLocal });
      const transport = open(server.url, "alice");
      const health = createClient(Health, transport);
      await expect(health.check({ service: "a".repeat(5000) })).rejects.toMatchObject({
        code: Code.ResourceExhausted,
        rawMessage: "The message is larger than 4096 bytes.",
      });
      await expect(health.check({ service: "a".repeat(4000) })).rejects.toMatchObject({ code: Code.NotFound });
      await transport.close?.();
    });

    test("refuses a message over the limit in a stream", async () => {
      await start({ unaryMessageBytesMax: 1000, streamMessageBytesMax: 1000 }, { isLocal });
      const transport = open(server.url, "alice");
      const client = createClient(TestService, transport);
      const upload = client.upload(sent({ name: "a", body: new Uint8Array(600) }, { body: new Uint8Array(1500) }));
      const refusal = await upload.catch((error: unknown) => error as ConnectError);
      expect(refusal).toMatchObject({ code: Code.ResourceExhausted });
      expect((refusal as ConnectError).findDetails(ErrorInfoSchema)).toMatchObject([{ reason: "TOO_LARGE" }]);
      await transport.close?.();
    });
  },
);

describe("before anything of a body is taken", () => {
  test("a declared length over the limit is refused", async () => {
    await start();
    const answer = await post("Echo", { "content-length": "5000000" }, (outgoing) => outgoing.flushHeaders());
    expect(answer.status).toBe(429);
    expect(JSON.parse(answer.body)).toMatchObject({ message: "The message is larger than 4194304 bytes." });
  });

  test("a frame whose header declares more than the limit is refused", async () => {
    await start();
    const answer = await post("Upload", { "content-type": "application/connect+proto" }, (outgoing) =>
      outgoing.write(Buffer.from([0, 0xff, 0xff, 0xff, 0xff])),
    );
    expect(answer.body).toContain('"code":"resource_exhausted"');
  });

  test("a caller who is not known is refused", async () => {
    await start();
    const unknown = { authorization: "Bearer mallory", "content-length": "1000" };
    expect((await post("Echo", unknown, (outgoing) => outgoing.flushHeaders())).status).toBe(401);
    const json = { ...unknown, "content-type": "application/json" };
    expect((await post("Echo", json, (outgoing) => outgoing.flushHeaders())).status).toBe(401);
  });
});

describe("refuses", () => {
  test.each([
    ["application/proto", "\xff\xff\xff"],
    ["application/json", '{"text":'],
    ["application/json", '{"number":"many"}'],
  ])("a message that cannot be read, with its reason: %s %s", async (type, message) => {
    await start();
    const answer = await post("Echo", { "content-type": type }, (outgoing) =>
      outgoing.end(Buffer.from(message, "latin1")),
    );
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toMatchObject({
      code: "invalid_argument",
      details: [
        { type: "google.rpc.ErrorInfo", debug: { reason: "INVALID_INPUT", domain: "test.quartet" } },
        { type: "google.rpc.RequestInfo" },
      ],
    });
  });

  test("a small compressed message that would be large", async () => {
    await start({ unaryMessageBytesMax: 100_000 });
    const body = gzipSync(toBinary(EchoRequestSchema, create(EchoRequestSchema, { body: new Uint8Array(10_000_000) })));
    const answer = await post("Echo", { "content-encoding": "gzip" }, (outgoing) => outgoing.end(body));
    expect(body.length).toBeLessThan(20_000);
    expect(answer.status).toBe(429);
  });

  test("headers over the limit", async () => {
    await start({ headerBytesMax: 8192 });
    const answer = await post("Echo", { "x-large": "x".repeat(9000) }, (outgoing) => outgoing.end());
    expect(answer.status).toBe(431);
  });

  test("calls over the limit of calls at the same time, and takes them again later", async () => {
    await start({ concurrentCallsMax: 2 });
    const transport = createTransport({ address: server.url, engine: "connect", token: async () => "alice" });
    const client = createClient(TestService, transport);
    const stop = new AbortController();
    const waiting = [1, 2].map(() => client.wait({}, { signal: stop.signal }).catch(() => "ended"));
    await expect
      .poll(() => client.echo({}).catch((error: { code: Code }) => error.code), { timeout: 5000 })
      .toBe(Code.ResourceExhausted);
    stop.abort();
    expect(await Promise.all(waiting)).toEqual(["ended", "ended"]);
    await expect
      .poll(() =>
        client.echo({}).then(
          () => "answered",
          () => "refused",
        ),
      )
      .toBe("answered");
    await transport.close();
  });

  test("calls without a token over their own limit, while those with one are answered", async () => {
    await start({ openCallsMax: 2, concurrentCallsMax: 1 });
    const transport = createTransport({ address: server.url, engine: "grpc", token: async () => "alice" });
    const health = createClient(Health, transport);
    const stop = new AbortController();
    const watches = [1, 2].map(() => health.watch({}, { signal: stop.signal })[Symbol.asyncIterator]());
    for (const watch of watches) expect((await watch.next()).done).toBe(false);
    const third = health.watch({}, { signal: stop.signal })[Symbol.asyncIterator]();
    await expect(third.next()).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect((await health.check({})).status).toBe(HealthCheckResponse_ServingStatus.SERVING);
    expect((await createClient(TestService, transport).echo({ text: "x" })).text).toBe("x");
    const ended = watches.map((watch) => watch.next().catch(() => "ended"));
    stop.abort();
    expect(await Promise.all(ended)).toEqual(["ended", "ended"]);
    await transport.close();
  });

  test("health checks over the same limit whose requests do not come, the oldest first", async () => {
    await start({ openCallsMax: 2 });
    const session = connectHttp2(server.url);
    const unfinished = (): ClientHttp2Stream => {
      const headers = { ...grpcCall("Check"), ":path": "/grpc.health.v1.Health/Check" };
      return session.request(headers).resume();
    };
    const first = unfinished();
    unfinished();
    const answered = once(first, "response");
    // A ping is answered after the requests before it have arrived.
    await new Promise<void>((resolve) => session.ping(() => resolve()));
    const transport = createTransport({ address: server.url, engine: "grpc", token: async () => "alice" });
    const health = createClient(Health, transport);
    // A second check takes no place from the first one, which has been answered.
    for (let count = 0; count < 5; count += 1)
      expect((await health.check({})).status).toBe(HealthCheckResponse_ServingStatus.SERVING);
    expect((await answered)[0]["grpc-status"]).toBe("8");
    session.destroy();
    await transport.close();
  });

  test("pages over the same limit that a peer holds open by accepting no bytes, the oldest first", async () => {
    await start({ openCallsMax: 2 });
    const session = connectHttp2(server.url, { settings: { initialWindowSize: 0 } });
    const oldest = session.request({ ":path": "/readyz" });
    const closed = once(oldest, "close");
    oldest.on("error", () => {});
    await once(oldest, "response");
    const status = async (): Promise<unknown> =>
      (await once(session.request({ ":path": "/readyz" }), "response"))[0][":status"];
    expect([await status(), await status()]).toEqual([200, 200]);
    await closed;
    expect(oldest.rstCode).toBe(constants.NGHTTP2_CANCEL);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    session.destroy();
  });

  test("more than eight calls at the same time that one connection pipelines", async () => {
    await start();
    const line = "POST /quartet.test.v1.TestService/Wait HTTP/1.1\r\nhost: a\r\nauthorization: Bearer alice";
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    const headers = "content-type: application/proto\r\nconnect-protocol-version: 1\r\ncontent-length: 0";
    socket.write(`${line}\r\n${headers}\r\n\r\n`.repeat(20));
    await eventually(() => app.begun.length === 8, "its share runs");
    // An answer on another connection comes after whatever the first one was going to begin.
    expect((await post("Echo", {}, (outgoing) => outgoing.end())).status).toBe(200);
    expect(app.begun).toHaveLength(8);
    socket.destroy();
  });

  test("a connection that says nothing", async () => {
    await start({ headersTimeoutMs: 50 });
    const socket = connect(server.port, "127.0.0.1");
    await once(socket, "close");
    expect(socket.bytesRead).toBe(0);
  });

  test("a connection that resets streams in a flood", async () => {
    await start();
    const session = connectHttp2(server.url);
    session.on("error", () => {});
    await once(session, "connect");
    let isOpen = true;
    session.on("close", () => {
      isOpen = false;
    });
    const flood = setInterval(() => {
      for (let count = 0; isOpen && !session.closed && count < 400; count += 1) {
        const stream = session.request({ ":path": "/", ":method": "POST" });
        stream.on("error", () => {});
        stream.close(8);
      }
    }, 5);
    await expect.poll(() => isOpen, { timeout: 10_000 }).toBe(false);
    clearInterval(flood);
    const transport = createTransport({ address: server.url, engine: "grpc", token: async () => "alice" });
    expect((await createClient(TestService, transport).echo({ text: "still here" })).text).toBe("still here");
    await transport.close();
  });
});

describe("memory", () => {
  const chunkBytes = 256 * 1024;
  const sizeBytes = 512n * 1024n * 1024n;
  // What sockets, windows and queues on both sides may hold: far less than the 2,048 chunks of the whole body.
  const chunksOnTheWayMax = 200;

  test.each(ways.filter(({ lane }) => lane !== "router"))("stays bounded when $name reads slowly", async (way) => {
    await start({}, way);
    const transport = way.open(server.url, "alice");
    const stop = new AbortController();
    const download = createClient(TestService, transport).download({ sizeBytes, chunkBytes }, { signal: stop.signal });
    const iterator = download[Symbol.asyncIterator]();
    await iterator.next();
    let seen = -1;
    await expect
      .poll(
        () => {
          const before = seen;
          seen = app.made;
          return seen === before;
        },
        { interval: 100, timeout: 10_000 },
      )
      .toBe(true);
    expect(app.made).toBeLessThan(chunksOnTheWayMax);
    stop.abort();
    await transport.close?.();
  });

  test.each(ways.filter(({ lane }) => lane !== "router"))(
    "stays bounded when a handler takes slowly from $name",
    async (way) => {
      await start({}, way);
      let letGo = (): void => {};
      app.uploadGate = new Promise((resolve) => {
        letGo = resolve;
      });
      let made = 0;
      const chunks = async function* () {
        yield { name: "slow" };
        while (made < 400) {
          made += 1;
          yield { name: "", body: new Uint8Array(chunkBytes) };
        }
      };
      const transport = way.open(server.url, "alice");
      const uploading = createClient(TestService, transport).upload(chunks());
      let seen = -1;
      await expect
        .poll(
          () => {
            const before = seen;
            seen = made;
            return made > 0 && seen === before;
          },
          { interval: 100, timeout: 10_000 },
        )
        .toBe(true);
      expect(made).toBeLessThan(chunksOnTheWayMax);
      expect(app.takenBytes).toBe(0);
      letGo();
      expect((await uploading).sizeBytes).toBe(400n * BigInt(chunkBytes));
      await transport.close?.();
    },
  );

  test("of the router's lane is bounded when the reader is slow", async () => {
    await start();
    const way = ways.find(({ name }) => name === "connect-node gRPC-Web over HTTP/1.1");
    const transport = way?.open(server.url, "alice");
    const stop = new AbortController();
    const client = createClient(TestService, transport as NonNullable<typeof transport>);
    const iterator = client.download({ sizeBytes, chunkBytes }, { signal: stop.signal })[Symbol.asyncIterator]();
    await iterator.next();
    await collect(client.count({ last: 100 }));
    expect(app.made).toBeLessThan(100 + chunksOnTheWayMax);
    stop.abort();
  });
});
