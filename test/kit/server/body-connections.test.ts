/** Uploads whose content travels on a connection of its own. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { join } from "node:path";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";

import { ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import type { UploadRequestSchema } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { Failure, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import type { Payload } from "../../../services/kit/client/payload-requests.ts";
import { PayloadRequests } from "../../../services/kit/client/payload-requests.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import type { ServerOptions } from "../../../services/kit/server/server.ts";
import { bodyPreface } from "../../../services/kit/wire/body-connection.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { createTestApp, startTestServer, testHandlers } from "./test-service.ts";

type Request = MessageInitShape<typeof UploadRequestSchema>;

const mebibyte = 1024 * 1024;
const content = randomBytes(3 * mebibyte + 17);
const { upload } = TestService.method;

/** The content in pieces of this size; `left` is set when they are closed before their end. */
const piecesOf = (bytes: Uint8Array, size = 100_000) => {
  const state = { taken: 0, isLeft: false };
  async function* pieces(): AsyncGenerator<Uint8Array> {
    let isEnded = false;
    try {
      for (let at = 0; at < bytes.length; at += size) {
        state.taken = at + size;
        yield bytes.subarray(at, at + size);
      }
      isEnded = true;
    } finally {
      state.isLeft = !isEnded;
    }
  }
  return { state, pieces: pieces() };
};

const requestsOf = (payload: Partial<Payload<Request>>, head: Request = { name: "ship" }): PayloadRequests<Request> =>
  new PayloadRequests<Request>(head, {
    pieces: piecesOf(content).pieces,
    sizeBytes: content.length,
    messageOf: (body) => ({ body }),
    last: () => undefined,
    ...payload,
  });

/** What the handler of a server that digests its uploads has seen of each. */
interface Seen {
  readonly digests: string[];
  readonly names: string[];
  failures: number;
}

const start = async (options: Partial<ServerOptions> = {}, listensTo: "unix" | "tcp" = "unix") => {
  const seen: Seen = { digests: [], names: [], failures: 0 };
  const path = join(await temporaryDirectory(), "rpc.sock");
  const handlers: typeof testHandlers = {
    ...testHandlers,
    async upload(requests) {
      const digest = createHash("sha256");
      try {
        for await (const { name, body } of requests) {
          if (name !== "") seen.names.push(name);
          digest.update(body);
        }
      } catch (error) {
        seen.failures += 1;
        throw error;
      }
      seen.digests.push(digest.digest("hex"));
      return {};
    },
  };
  const { server } = await startTestServer({
    listen: listensTo === "unix" ? { path } : { host: "127.0.0.1", port: 0 },
    services: [{ service: TestService, handlers, errors: ErrorReasonSchema, app: createTestApp() }],
    ...options,
  });
  onTestFinished(() => server.stop(0));
  return { seen, path, transport: transportTo(server.url) };
};

const transportTo = (address: string) => {
  const transport = createTransport({ address, engine: "connect", token: async () => "alice" });
  onTestFinished(() => transport.close());
  return transport;
};

const send = async (
  transport: ReturnType<typeof transportTo>,
  requests: PayloadRequests<Request>,
  signal?: AbortSignal,
): Promise<unknown[]> =>
  Array.fromAsync((await transport.stream(upload, signal, undefined, undefined, requests)).message);

const sha256 = createHash("sha256").update(content).digest("hex");

describe("the content of a large upload", () => {
  test.each([
    // where the server listens, whether the size is known
    ["unix", true],
    ["unix", false],
    ["tcp", true],
  ] as const)(
    "arrives as it was sent, between the first message and the last (%s, known size: %s)",
    async (to, known) => {
      const { seen, transport } = await start({}, to);
      const payload = { ...(known ? {} : { sizeBytes: undefined }), last: () => ({ name: "anchor" }) };
      await send(transport, requestsOf(payload));
      expect(seen).toEqual({ digests: [sha256], names: ["ship", "anchor"], failures: 0 });
    },
  );

  test("arrives in pieces of any size, also across the frames that it is sent in", async () => {
    const { seen, transport } = await start();
    await send(transport, requestsOf({ pieces: piecesOf(content, 1_500_000).pieces }));
    await send(transport, requestsOf({ pieces: piecesOf(content, 4_093).pieces }));
    expect(seen.digests).toEqual([sha256, sha256]);
  });

  test("of many uploads at once is not mixed up", async () => {
    const { seen, transport } = await start();
    await Promise.all(Array.from({ length: 12 }, () => send(transport, requestsOf({}))));
    expect(seen.digests).toEqual(Array.from({ length: 12 }, () => sha256));
  });

  test("is no upload without its end: fewer bytes than were announced", async () => {
    const { seen, transport } = await start();
    const short = requestsOf({ pieces: piecesOf(content.subarray(1)).pieces });
    await expect(send(transport, short)).rejects.toMatchObject({ code: Code.Canceled });
    await eventually(() => seen.failures === 1, "the handler's reading fails");
    expect(seen.digests).toEqual([]);
  });

  test("nor with more bytes than were announced", async () => {
    const { seen, transport } = await start();
    const long = requestsOf({ sizeBytes: content.length - 1 });
    await expect(send(transport, long)).rejects.toThrow("longer than it was said to be");
    await eventually(() => seen.failures === 1, "the handler's reading fails");
    expect(seen.digests).toEqual([]);
  });

  test("nor if its source throws after its last byte, which the caller gets", async () => {
    const { seen, transport } = await start();
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield content;
      throw new Error("the signature is another one");
    }
    await expect(send(transport, requestsOf({ pieces: pieces() }))).rejects.toThrow("the signature is another one");
    await eventually(() => seen.failures === 1, "the handler's reading fails");
    expect(seen.digests).toEqual([]);
  });

  test("is left when its caller gives the call up", async () => {
    const { seen, transport } = await start();
    const { pieces, state } = piecesOf(content);
    async function* slow(): AsyncGenerator<Uint8Array> {
      for await (const piece of pieces) {
        yield piece;
        await new Promise(setImmediate);
        if (state.taken > mebibyte) stop.abort();
      }
    }
    const stop = new AbortController();
    const sending = send(transport, requestsOf({ pieces: slow() }), stop.signal);
    await expect(sending).rejects.toMatchObject({ code: Code.Canceled });
    await eventually(() => state.isLeft && seen.failures === 1, "both ends leave it");
  });
});

describe("a refusal", () => {
  test("before the content is taken reaches a caller who sends, and closes the content", async () => {
    const path = join(await temporaryDirectory(), "rpc.sock");
    const { server, app } = await startTestServer({ listen: { path } });
    onTestFinished(() => server.stop(0));
    const { pieces, state } = piecesOf(randomBytes(40 * mebibyte));
    const requests = requestsOf({ pieces, sizeBytes: 40 * mebibyte }, { name: "ship", failure: Failure.DECLARED });
    await expect(send(transportTo(server.url), requests)).rejects.toMatchObject({ code: Code.NotFound });
    await eventually(() => state.isLeft, "the content is closed");
    expect(app.takenBytes).toBe(0);
    // What the kernel and both processes hold of a connection that is not read.
    expect(state.taken).toBeLessThan(8 * mebibyte);
  });
});

test("content is read only as the handler takes it", async () => {
  const path = join(await temporaryDirectory(), "rpc.sock");
  const { server, app } = await startTestServer({ listen: { path } });
  onTestFinished(() => server.stop(0));
  const gate = Promise.withResolvers<void>();
  app.uploadGate = gate.promise;
  const bytes = randomBytes(40 * mebibyte);
  const { pieces, state } = piecesOf(bytes);
  const sending = send(transportTo(server.url), requestsOf({ pieces, sizeBytes: bytes.length }));
  await eventually(() => app.begun.length === 1 && state.taken > 0, "the handler waits");
  for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
  expect(state.taken).toBeLessThan(8 * mebibyte);
  gate.resolve();
  await expect(sending).resolves.toMatchObject([{ name: "ship", sizeBytes: BigInt(bytes.length) }]);
});

describe("a connection for content", () => {
  const connected = async (path: string): Promise<{ socket: Socket; closed: Promise<unknown> }> => {
    const socket = connect({ path });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    const closed = once(socket, "close");
    await once(socket, "connect");
    socket.resume();
    return { socket, closed };
  };

  test("that no call names in time is closed", async () => {
    const clock = new FakeClock();
    const { path } = await start({ clock });
    const { socket, closed } = await connected(path);
    socket.write(Buffer.concat([bodyPreface, Buffer.alloc(36, "a")]));
    await eventually(() => clock.pending().length > 0, "the server waits for its call");
    clock.advance(10_000);
    await closed;
    expect(socket.destroyed).toBe(true);
  });

  test("that begins otherwise is closed", async () => {
    const { path } = await start();
    const { socket, closed } = await connected(path);
    socket.write(Buffer.alloc(100, "BOD"));
    await closed;
    expect(socket.destroyed).toBe(true);
  });
});
