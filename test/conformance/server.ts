import { setTimeout as delay } from "node:timers/promises";

import type { Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";

import type { CallContext } from "../../services/kit/server/handlers.ts";
import { startServer } from "../../services/kit/server/server.ts";
import type { ServerTls } from "../../services/kit/tls/server-tls.ts";
import { codeOfNumber } from "../../services/kit/wire/codes.ts";
import { silentLogger } from "../support/silent-logger.ts";
import type { ConformanceRequest, ErrorDefinition, ResponseDefinition, ServerCompatRequest } from "./messages.ts";
import { conformanceService, headerLines, messageType, packed, readMessages, writeMessage } from "./messages.ts";

/**
 * The kit's server as the public conformance runner drives it in server mode: one request on stdin says what to serve,
 * one answer on stdout says where, and the service answers what each request asks for.
 */

const requestInfoSchema = messageType("ConformancePayload.RequestInfo");

type Context = CallContext<undefined>;

const requestInfo = ({ requestHeader, deadlineMs }: Context, requests: readonly Message[]): Message =>
  create(requestInfoSchema, {
    requestHeaders: headerLines(requestHeader),
    requests: requests.map(packed),
    ...(deadlineMs !== undefined && { timeoutMs: BigInt(Math.round(deadlineMs - Date.now())) }),
  });

const giveHeaders = (context: Context, definition: ResponseDefinition | undefined): void => {
  for (const { name, value } of definition?.responseHeaders ?? [])
    for (const one of value) context.responseHeader.append(name, one);
  for (const { name, value } of definition?.responseTrailers ?? [])
    for (const one of value) context.responseTrailer.append(name, one);
};

const refusal = ({ code, message, details }: ErrorDefinition, info: Message | undefined): ConnectError => {
  const error = new ConnectError(message ?? "", codeOfNumber(code));
  error.details = details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value }));
  if (info !== undefined) error.details.push({ desc: requestInfoSchema, value: { ...info } });
  return error;
};

const answerOnce = async (
  requests: readonly Message[],
  definition: ResponseDefinition | undefined,
  context: Context,
): Promise<object> => {
  const info = requestInfo(context, requests);
  giveHeaders(context, definition);
  if (definition?.responseDelayMs) await delay(definition.responseDelayMs);
  const response = definition?.response;
  if (response?.case === "error") throw refusal(response.value as ErrorDefinition, info);
  return { payload: { data: response?.value ?? new Uint8Array(), requestInfo: info } };
};

/** The answers of a stream from the given one on; the first of all tells the requests. */
async function* answerMany(
  definition: ResponseDefinition | undefined,
  first: number,
  info: Message | undefined,
): AsyncGenerator<object> {
  let untold = info;
  for (const data of definition?.responseData?.slice(first) ?? []) {
    if (definition?.responseDelayMs) await delay(definition.responseDelayMs);
    yield { payload: { data, ...(untold && { requestInfo: untold }) } };
    untold = undefined;
  }
  if (definition?.error !== undefined) throw refusal(definition.error, untold);
}

const unary = (request: ConformanceRequest, context: Context): Promise<object> =>
  answerOnce([request], request.responseDefinition, context);

const handlers = {
  unary,
  idempotentUnary: unary,
  unimplemented: { pending: true },
  clientStream: async (requests: AsyncIterable<ConformanceRequest>, context: Context): Promise<object> => {
    const all: ConformanceRequest[] = [];
    for await (const request of requests) all.push(request);
    return answerOnce(all, all[0]?.responseDefinition, context);
  },
  serverStream: (request: ConformanceRequest, context: Context): AsyncIterable<object> => {
    giveHeaders(context, request.responseDefinition);
    return answerMany(request.responseDefinition, 0, requestInfo(context, [request]));
  },
  bidiStream: async function* (requests: AsyncIterable<ConformanceRequest>, context: Context): AsyncGenerator<object> {
    const untold: ConformanceRequest[] = [];
    let opening: ConformanceRequest | undefined;
    let answered = 0;
    for await (const request of requests) {
      if (opening === undefined) giveHeaders(context, request.responseDefinition);
      opening ??= request;
      untold.push(request);
      const definition = opening.responseDefinition;
      if (opening.fullDuplex !== true) continue;
      const data = definition?.responseData?.[answered];
      if (data === undefined) break;
      if (definition?.responseDelayMs) await delay(definition.responseDelayMs);
      const info =
        answered === 0
          ? requestInfo(context, untold)
          : create(requestInfoSchema, { requests: untold.splice(0).map(packed) });
      untold.length = 0;
      yield { payload: { data, requestInfo: info } };
      answered += 1;
    }
    const info = answered === 0 ? requestInfo(context, untold) : undefined;
    yield* answerMany(opening?.responseDefinition, answered, info);
  },
};

const tlsOf = ({ useTls, serverCreds, clientTlsCert }: ServerCompatRequest): ServerTls | undefined => {
  if (!useTls || serverCreds === undefined) return undefined;
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
  const isMutual = clientTlsCert.length > 0;
  const material = {
    certificate: text(serverCreds.cert),
    key: text(serverCreds.key),
    ...(isMutual && { authority: text(clientTlsCert) }),
  };
  return { source: { current: () => material }, clientCertificates: isMutual ? "required" : "none" };
};

process.on("SIGTERM", () => process.exit(0));
for await (const wanted of readMessages<ServerCompatRequest>(process.stdin, messageType("ServerCompatRequest"))) {
  const limit = wanted.messageReceiveLimit || 4 * 1024 * 1024;
  const tls = tlsOf(wanted);
  const server = await startServer({
    name: "conformance",
    listen: { host: "127.0.0.1", port: 0 },
    ...(tls && { tls }),
    services: [{ service: conformanceService, handlers, app: undefined, isOpen: true }],
    authenticate: () => Promise.reject(new Error("every method is open")),
    log: silentLogger,
    limits: { unaryMessageBytesMax: limit, streamMessageBytesMax: limit },
  });
  writeMessage(process.stdout, messageType("ServerCompatResponse"), {
    host: "127.0.0.1",
    port: server.port,
    ...(tls && { pemCert: wanted.serverCreds?.cert }),
  });
}
