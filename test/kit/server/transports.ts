import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";

import type { ServerOptions } from "../../../services/kit/server/server.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";

/** A way to reach the test server: through which lane, by whose client. */
export interface Way {
  readonly name: string;
  /** Whether its server listens at a unix socket. */
  readonly isLocal?: boolean;
  readonly lane: "connect" | "grpc" | "router";
  /** True where both directions of a call can run at the same time. */
  readonly isFullDuplex: boolean;
  /** The largest body that it can send in one message; less where the message is in the URL. */
  readonly bodyBytesMax: number;
  readonly open: (address: string, caller: string) => Transport & { close?(): Promise<void> };
}

const callingAs = (caller: string): Interceptor[] => [
  (next) => (request) => {
    request.header.set("authorization", `Bearer ${caller}`);
    return next(request);
  },
];

/** Our transport with both engines, and connect-node's transports as outside oracles. */
export const ways: readonly Way[] = [
  {
    name: "our Connect engine",
    lane: "connect",
    isFullDuplex: true,
    bodyBytesMax: 2 * 1024 * 1024,
    open: (address, caller) => createTransport({ address, engine: "connect", token: async () => caller }),
  },
  {
    name: "our Connect engine over a unix socket",
    isLocal: true,
    lane: "connect",
    isFullDuplex: true,
    bodyBytesMax: 2 * 1024 * 1024,
    open: (address, caller) => createTransport({ address, engine: "connect", token: async () => caller }),
  },
  {
    name: "our gRPC engine",
    lane: "grpc",
    isFullDuplex: true,
    bodyBytesMax: 2 * 1024 * 1024,
    open: (address, caller) => createTransport({ address, engine: "grpc", token: async () => caller }),
  },
  {
    name: "connect-node Connect over HTTP/1.1",
    lane: "connect",
    isFullDuplex: false,
    bodyBytesMax: 2 * 1024 * 1024,
    open: (baseUrl, caller) =>
      createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true, interceptors: callingAs(caller) }),
  },
  {
    name: "connect-node gRPC",
    lane: "grpc",
    isFullDuplex: true,
    bodyBytesMax: 2 * 1024 * 1024,
    open: (baseUrl, caller) => createGrpcTransport({ baseUrl, interceptors: callingAs(caller) }),
  },
  {
    name: "connect-node Connect over HTTP/2",
    lane: "router",
    isFullDuplex: true,
    bodyBytesMax: 2 * 1024 * 1024,
    open: (baseUrl, caller) =>
      createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true, interceptors: callingAs(caller) }),
  },
  {
    name: "connect-node Connect JSON over HTTP/1.1",
    lane: "router",
    isFullDuplex: false,
    bodyBytesMax: 2 * 1024 * 1024,
    open: (baseUrl, caller) =>
      createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false, interceptors: callingAs(caller) }),
  },
  {
    name: "connect-node Connect JSON by GET",
    lane: "router",
    isFullDuplex: false,
    bodyBytesMax: 8 * 1024,
    open: (baseUrl, caller) =>
      createConnectTransport({
        baseUrl,
        httpVersion: "1.1",
        useBinaryFormat: false,
        useHttpGet: true,
        interceptors: callingAs(caller),
      }),
  },
  {
    name: "connect-node gRPC-Web over HTTP/1.1",
    lane: "router",
    isFullDuplex: false,
    bodyBytesMax: 2 * 1024 * 1024,
    open: (baseUrl, caller) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", interceptors: callingAs(caller) }),
  },
  {
    name: "connect-node gRPC-Web over HTTP/2",
    lane: "router",
    isFullDuplex: true,
    bodyBytesMax: 2 * 1024 * 1024,
    open: (baseUrl, caller) => createGrpcWebTransport({ baseUrl, httpVersion: "2", interceptors: callingAs(caller) }),
  },
];

/** Where the test server of a way listens. */
export const listenFor = ({ isLocal }: Pick<Way, "isLocal">): Pick<ServerOptions, "listen"> => ({
  listen: isLocal === true ? { path: join(tmpdir(), `${randomUUID()}.sock`) } : { host: "127.0.0.1", port: 0 },
});

/** The messages of an answer, all of them. */
export const collect = async <T>(messages: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const message of messages) all.push(message);
  return all;
};

/** The given messages, one after the other. */
export async function* sent<T>(...messages: T[]): AsyncGenerator<T> {
  yield* messages;
}
