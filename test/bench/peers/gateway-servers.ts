import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { ErrorReasonSchema } from "../../../gen/quartet/test/gateway/v1/error_reason_pb.ts";
import { ReaderService } from "../../../gen/quartet/test/gateway/v1/reader_service_pb.ts";
import { ShelfService } from "../../../gen/quartet/test/gateway/v1/shelf_service_pb.ts";
import { createGateway } from "../../../gateway/gateway.ts";
import { startGateway } from "../../../gateway/server.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";
import { fixedAccessKeys } from "../../../services/kit/identity/access-keys.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { createMinter } from "../../../services/kit/identity/tokens.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import { startServer } from "../../../services/kit/server/server.ts";
import { testKey } from "../../gateway/support/signing-client.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { playPeer, startPeer } from "./peer.ts";

const anyPort = { host: "127.0.0.1", port: 0 };
const megabyte = Buffer.alloc(1024 * 1024, "a");

/** The pieces of a book of 64 MiB. */
const pieces = 64;

async function* book(): AsyncGenerator<{ contentLength?: bigint; body: Uint8Array }> {
  yield { contentLength: BigInt(pieces * megabyte.length), body: megabyte };
  for (let sent = 1; sent < pieces; sent += 1) yield { body: megabyte };
}

/** The handlers that are called; the others answer nothing. */
const handlers: Record<string, (request: never) => unknown> = {
  createReader: async (request: { readerName: string; address: unknown; tags: unknown }) => ({
    readerName: request.readerName,
    createdAt: { seconds: 1_767_323_045n, nanos: 0 },
    tags: request.tags,
  }),
  putBook: async (requests: AsyncIterable<unknown>) => {
    for await (const _request of requests);
    return { eTag: '"1"' };
  },
  getBook: book,
};

const startServices = async (): Promise<string> => {
  const caller = rootCaller(testKey.accountId);
  const server = await startServer({
    name: "bench",
    listen: anyPort,
    services: [ReaderService, ShelfService].map((service) => ({
      service,
      handlers: Object.fromEntries(
        service.methods.map(({ localName }) => [localName, handlers[localName] ?? (async () => ({}))]),
      ),
      errors: ErrorReasonSchema,
      app: undefined,
    })),
    authenticate: async () => caller,
    log: silentLogger,
  });
  return server.url;
};

const startFront = async (): Promise<string> => {
  const behind = startPeer("gateway-servers", "services");
  const transport = createTransport({ address: await behind.ask<string>({ ask: "start" }), engine: "connect" });
  const gateway = createGateway({
    connections: [ReaderService, ShelfService].map((service) => ({ service, errors: ErrorReasonSchema, transport })),
    accessKeys: fixedAccessKeys([testKey]),
    minter: createMinter({ keyPair: { name: "gateway", ...generateKeyPairSync("ed25519") }, clock: systemClock }),
    clock: systemClock,
    ids: randomIds,
    log: silentLogger,
    hosts: ["localhost"],
    region: "us-east-1",
    brandWord: "svc",
  });
  return (await startGateway(gateway, { listen: anyPort, adminListen: anyPort })).url;
};

/** The same answers, written by hand without signatures, messages or a service behind. */
const startBare = async (): Promise<string> => {
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      response.writeHead(200, { "content-length": pieces * megabyte.length });
      let sent = 0;
      const pump = (): void => {
        while (sent < pieces) {
          sent += 1;
          if (!response.write(megabyte)) {
            response.once("drain", pump);
            return;
          }
        }
        response.end();
      };
      pump();
      return;
    }
    if (request.method === "PUT") {
      request.on("data", () => {});
      request.on("end", () => response.writeHead(200, { etag: '"1"', "content-length": 0 }).end());
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { tags } = JSON.parse(Buffer.concat(chunks).toString()) as { tags: unknown };
      const body = JSON.stringify({ ReaderName: "Ada", CreatedAt: 1_767_323_045, tags });
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const roles: Record<string, () => Promise<string>> = { gateway: startFront, services: startServices, bare: startBare };

playPeer({ start: roles[process.argv[2] ?? ""] });
