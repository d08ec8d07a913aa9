import type { ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";

import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";

import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthCheckResponseSchema,
} from "../../../gen/grpc/health/v1/health_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";

const kibibyte = 1024;
const message = toBinary(
  HealthCheckResponseSchema,
  create(HealthCheckResponseSchema, { status: ServingStatus.SERVING }),
);
const frame = (flags: number, body: Uint8Array | string): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, Buffer.from(body)]);
};
const end = frame(2, "{}");

type Answer = (response: ServerResponse) => unknown;

/** A client of a server that answers whatever it likes, and the closing of the connection of its first answer. */
const startServer = async (answer: Answer) => {
  const closed = Promise.withResolvers<"closed">();
  const server = createServer((request, response) => {
    request.resume();
    request.socket.once("close", () => closed.resolve("closed"));
    response.on("error", () => {});
    answer(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const transport = createTransport({
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    engine: "connect",
    retry: { attemptsMax: 1 },
  });
  onTestFinished(async () => {
    await transport.close();
    server.closeAllConnections();
    server.close();
  });
  return { client: createClient(Health, transport), closed: closed.promise };
};

const streamed =
  (...parts: readonly Buffer[]): Answer =>
  (response) => {
    response.writeHead(200, { "content-type": "application/connect+proto" });
    response.end(Buffer.concat(parts));
  };

/** Writes for as long as somebody reads. */
const endlessly = (response: ServerResponse, piece: Buffer): void => {
  const more = (): void => {
    if (!response.destroyed) response.write(piece, () => setImmediate(more));
  };
  more();
};

const refusal = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof ConnectError ? `${Code[error.code]}: ${error.rawMessage}` : String(error);
};

describe("a streamed answer", () => {
  test("is read to its end", async () => {
    const { client } = await startServer(streamed(frame(0, message), frame(0, message), end));
    expect(await Array.fromAsync(client.watch({}))).toHaveLength(2);
  });

  test.each<[what: string, parts: readonly Buffer[], error: string]>([
    ["a compressed message, which was not asked for", [frame(1, message), end], "has unknown flags 1"],
    ["a frame of an unknown kind", [frame(4, message), end], "has unknown flags 4"],
    ["an end of an unknown kind", [frame(0, message), frame(6, "{}")], "has unknown flags 6"],
    ["a message after its end", [frame(0, message), end, frame(0, message)], "goes on after its end"],
    ["a second end", [end, end], "goes on after its end"],
    [
      "the beginning of a message after its end",
      [end, frame(0, message).subarray(0, 3)],
      "(goes on after its end|ends within a message.)",
    ],
    ["no end", [frame(0, message)], "ended without its end"],
  ])("with %s is refused", async (_what, parts, error) => {
    const { client } = await startServer(streamed(...parts));
    expect(await refusal(Array.fromAsync(client.watch({})))).toMatch(new RegExp(`^Internal: .* ${error}$`));
  });

  test("that goes on once its end was read loses its connection", async () => {
    const read = Promise.withResolvers<void>();
    const { client, closed } = await startServer(async (response) => {
      response.writeHead(200, { "content-type": "application/connect+proto" });
      response.write(Buffer.concat([frame(0, message), end]));
      await read.promise;
      endlessly(response, frame(0, message));
    });
    expect(await Array.fromAsync(client.watch({}))).toHaveLength(1);
    read.resolve();
    expect(await closed).toBe("closed");
  });
});

describe.each([
  ["unary", (client: Awaited<ReturnType<typeof startServer>>["client"]) => client.check({})],
  ["streaming", (client: Awaited<ReturnType<typeof startServer>>["client"]) => Array.fromAsync(client.watch({}))],
])("a %s call", (_kind, call) => {
  test.each<[what: string, status: number, type: string, error: string]>([
    ["an error", 503, "application/json", "Unavailable: HTTP status 503"],
    ["an error of another peer", 502, "text/html", "Unavailable: HTTP status 502"],
    ["an answer of another type", 200, "text/html", 'Unknown: the answer has the content type "text/html"'],
  ])("ends at once with %s whose text has no end", async (_what, status, type, error) => {
    const { client, closed } = await startServer((response) => {
      response.writeHead(status, { "content-type": type });
      endlessly(response, Buffer.alloc(16 * kibibyte, 0x20));
    });
    expect(await refusal(call(client))).toBe(error);
    expect(await closed).toBe("closed");
  });

  test("reads an error of 64 KiB, and of a larger one the status alone", async () => {
    const text = (bytes: number): string => {
      const empty = JSON.stringify({ code: "not_found", message: "" });
      return JSON.stringify({ code: "not_found", message: "m".repeat(bytes - empty.length) });
    };
    const answers = [text(64 * kibibyte), text(64 * kibibyte + 1)];
    const { client } = await startServer((response) =>
      response.writeHead(404, { "content-type": "application/json", "trailer-": "" }).end(answers.shift()),
    );
    expect(await refusal(call(client))).toMatch(/^NotFound: m{60000,}$/);
    expect(await refusal(call(client))).toBe("Unimplemented: HTTP status 404");
  });
});
