import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";

import type { CallContext } from "../../../services/kit/server/handlers.ts";
import { startServer } from "../../../services/kit/server/server.ts";
import { codeOfNumber } from "../../../services/kit/wire/codes.ts";
import { silentLogger } from "../../support/silent-logger.ts";

/** The service that the public gRPC interop client calls, on the kit's server; tells its port on stdout. */

interface Asked {
  readonly payload?: { readonly body: Uint8Array };
  readonly responseStatus?: { readonly code: number; readonly message: string };
}

interface SimpleRequest extends Asked {
  readonly responseSize: number;
}

interface OutputRequest extends Asked {
  readonly responseParameters: readonly { readonly size: number; readonly intervalUs: number }[];
}

type Context = CallContext<undefined>;

const initialKey = "x-grpc-test-echo-initial";
const trailingKey = "x-grpc-test-echo-trailing-bin";

/** Gives back the metadata that the client asks for, and fails with the status that it asks for. */
const echo = ({ responseStatus }: Asked, { requestHeader, responseHeader, responseTrailer }: Context): void => {
  const [initial, trailing] = [requestHeader.get(initialKey), requestHeader.get(trailingKey)];
  if (initial !== null) responseHeader.set(initialKey, initial);
  if (trailing !== null) responseTrailer.set(trailingKey, trailing);
  if (responseStatus !== undefined && responseStatus.code !== 0)
    throw new ConnectError(responseStatus.message, codeOfNumber(responseStatus.code));
};

async function* outputs(request: OutputRequest, context: Context): AsyncGenerator<object> {
  echo(request, context);
  for (const { size, intervalUs } of request.responseParameters) {
    if (intervalUs > 0) await delay(intervalUs / 1000);
    yield { payload: { body: new Uint8Array(size) } };
  }
}

const unary = async (request: SimpleRequest, context: Context): Promise<object> => {
  echo(request, context);
  return { payload: { body: new Uint8Array(request.responseSize) } };
};

const handlers = {
  emptyCall: async () => ({}),
  unaryCall: unary,
  cacheableUnaryCall: unary,
  streamingOutputCall: outputs,
  streamingInputCall: async (requests: AsyncIterable<Asked>) => {
    let aggregatedPayloadSize = 0;
    for await (const { payload } of requests) aggregatedPayloadSize += payload?.body.length ?? 0;
    return { aggregatedPayloadSize };
  },
  fullDuplexCall: async function* (requests: AsyncIterable<OutputRequest>, context: Context): AsyncGenerator<object> {
    for await (const request of requests) yield* outputs(request, context);
  },
  halfDuplexCall: async function* (requests: AsyncIterable<OutputRequest>, context: Context): AsyncGenerator<object> {
    const all: OutputRequest[] = [];
    for await (const request of requests) all.push(request);
    for (const request of all) yield* outputs(request, context);
  },
  unimplementedCall: { pending: true },
};

const descriptors = fromBinary(FileDescriptorSetSchema, readFileSync(process.env["INTEROP_DESCRIPTORS"] ?? ""));
const service = createFileRegistry(descriptors).getService("grpc.testing.TestService");
if (service === undefined) throw new Error("the descriptors have no grpc.testing.TestService");
const server = await startServer({
  name: "interop",
  listen: { host: "127.0.0.1", port: 0 },
  services: [{ service, handlers, app: undefined, isOpen: true }],
  authenticate: () => Promise.reject(new Error("every method is open")),
  log: silentLogger,
});
process.stdout.write(`${server.port}\n`);
process.on("SIGTERM", () => process.exit(0));
