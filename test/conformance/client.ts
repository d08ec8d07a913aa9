import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

import type { DescMethod, Message } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";
import { ConnectError, createClient } from "@connectrpc/connect";

import type { ClosableTransport } from "../../services/kit/client/transport.ts";
import { createTransport } from "../../services/kit/client/transport.ts";
import type { ClientCompatRequest, HeaderLines } from "./messages.ts";
import { conformanceService, headerLines, messageType, readMessages, writeMessage } from "./messages.ts";

/**
 * The kit's transport as the public conformance runner drives it in client mode: each request on stdin describes a
 * call, each answer on stdout what came of it.
 */

const protocolConnect = 1;
const fullDuplex = 5;
const callsMax = 16;
const transports = new Map<string, ClosableTransport>();

const transportFor = (request: ClientCompatRequest): ClosableTransport => {
  const { protocol, host, port, serverTlsCert, clientTlsCreds, messageReceiveLimit } = request;
  const isTls = serverTlsCert.length > 0;
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
  const engine = protocol === protocolConnect ? "connect" : "grpc";
  const address = `${isTls ? "https" : "http"}://${host}:${port}`;
  const key = [engine, address, messageReceiveLimit, clientTlsCreds !== undefined].join(" ");
  let transport = transports.get(key);
  if (transport === undefined) {
    const material = {
      authority: text(serverTlsCert),
      ...(clientTlsCreds && { certificate: text(clientTlsCreds.cert), key: text(clientTlsCreds.key) }),
    };
    const limits = messageReceiveLimit === 0 ? {} : { messageBytesMax: messageReceiveLimit };
    const tls = { source: { current: () => material } };
    transport = createTransport({ address, engine, limits, ...(isTls && { tls }) });
    transports.set(key, transport);
  }
  return transport;
};

/** What came of a call, in the runner's words. */
interface Outcome {
  responseHeaders: HeaderLines[];
  responseTrailers: HeaderLines[];
  readonly payloads: unknown[];
  numUnsentRequests: number;
  error?: object;
}

const noteError = (outcome: Outcome, thrown: unknown): void => {
  const error = ConnectError.from(thrown);
  const details = error.details.map((detail) =>
    "type" in detail ? { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value } : {},
  );
  outcome.error = { code: error.code, message: error.rawMessage, details };
  if (outcome.responseTrailers.length === 0) outcome.responseTrailers = headerLines(error.metadata);
};

const call = async (request: ClientCompatRequest): Promise<Outcome> => {
  const outcome: Outcome = { responseHeaders: [], responseTrailers: [], payloads: [], numUnsentRequests: 0 };
  const method = conformanceService.methods.find(({ name }) => name === request.method);
  if (method === undefined) throw new Error(`the service has no method ${request.method}`);
  const messages = request.requestMessages.map(({ value }) => fromBinary(method.input, value));
  const headers = new Headers();
  for (const { name, value } of request.requestHeaders) for (const one of value) headers.append(name, one);
  const given = { transport: transportFor(request), headers, messages, outcome, request };
  try {
    if (method.methodKind === "unary") await callUnary(method, given);
    else await callStream(method, given);
  } catch (error) {
    noteError(outcome, error);
  }
  return outcome;
};

interface GivenCall {
  readonly transport: ClosableTransport;
  readonly headers: Headers;
  readonly messages: readonly Message[];
  readonly outcome: Outcome;
  readonly request: ClientCompatRequest;
}

/**
 * When the call is to be cancelled, as milliseconds after its requests are sent; undefined: at another point or never.
 */
const cancelDelayMs = ({ cancel }: ClientCompatRequest): number | undefined => {
  if (cancel === undefined) return undefined;
  const timing = cancel.cancelTiming;
  if (timing.case === undefined) return 0;
  return timing.case === "afterCloseSendMs" ? (timing.value as number) : undefined;
};

const payloadOf = (answer: Message): unknown => (answer as unknown as { readonly payload?: unknown }).payload;

/** A method of the client, whichever kind of call it makes. */
type AnyCall = (request: unknown, options: CallOptions) => Promise<Message> & AsyncIterable<Message>;

const clientCall = ({ localName }: DescMethod, { transport }: GivenCall): AnyCall =>
  (createClient(conformanceService, transport) as unknown as Record<string, AnyCall>)[localName] as AnyCall;

const optionsOf = ({ headers, outcome, request }: GivenCall, { signal }: AbortController): CallOptions => ({
  headers,
  signal,
  timeoutMs: request.timeoutMs,
  onHeader: (received) => {
    outcome.responseHeaders = headerLines(received);
  },
  onTrailer: (received) => {
    outcome.responseTrailers = headerLines(received);
  },
});

const callUnary = async (method: DescMethod, given: GivenCall): Promise<void> => {
  const { messages, outcome, request } = given;
  const stop = new AbortController();
  await delay(request.requestDelayMs);
  const cancelMs = cancelDelayMs(request);
  if (cancelMs !== undefined) setTimeout(() => stop.abort(), cancelMs);
  const answer = await clientCall(method, given)(messages[0], optionsOf(given, stop));
  outcome.payloads.push(payloadOf(answer));
};

const callStream = async (method: DescMethod, given: GivenCall): Promise<void> => {
  const { messages, outcome, request } = given;
  const stop = new AbortController();
  const timing = request.cancel?.cancelTiming;
  let answered = 0;
  let wake: (() => void) | undefined;
  outcome.numUnsentRequests = messages.length;
  const cancelLater = (): void => {
    const cancelMs = cancelDelayMs(request);
    if (cancelMs !== undefined) setTimeout(() => stop.abort(), cancelMs);
  };
  const requests = async function* (): AsyncGenerator<Message> {
    for (const [index, message] of messages.entries()) {
      await delay(request.requestDelayMs);
      yield message;
      outcome.numUnsentRequests -= 1;
      if (request.streamType === fullDuplex)
        while (answered <= index)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
    }
    if (timing?.case === "beforeCloseSend") {
      stop.abort();
      // The send side stays open.
      await new Promise(() => {});
    }
    cancelLater();
  };
  const make = clientCall(method, given);
  const options = optionsOf(given, stop);
  if (method.methodKind === "client_streaming") {
    outcome.payloads.push(payloadOf(await make(requests(), options)));
    return;
  }
  const isServerStream = method.methodKind === "server_streaming";
  if (isServerStream) {
    await delay(request.requestDelayMs);
    outcome.numUnsentRequests = 0;
    cancelLater();
  }
  try {
    for await (const message of make(isServerStream ? messages[0] : requests(), options)) {
      outcome.payloads.push(payloadOf(message));
      answered += 1;
      wake?.();
      if (timing?.case === "afterNumResponses" && answered === timing.value) stop.abort();
    }
  } finally {
    answered = Infinity;
    wake?.();
  }
};

const responseSchema = messageType("ClientCompatResponse");
const running = new Set<Promise<void>>();
process.on("SIGTERM", () => process.exit(0));
for await (const request of readMessages<ClientCompatRequest>(process.stdin, messageType("ClientCompatRequest"))) {
  const told = call(request).then(
    (response) => ({ case: "response", value: response }),
    (error: unknown) => ({ case: "error", value: { message: String(error) } }),
  );
  const entry = told.then((result) => {
    writeMessage(process.stdout, responseSchema, { testName: request.testName, result });
    running.delete(entry);
  });
  running.add(entry);
  if (running.size >= callsMax) await Promise.race(running);
}
await Promise.all(running);
await Promise.all([...transports.values()].map((transport) => transport.close()));
if (process.stdout.writableNeedDrain) await once(process.stdout, "drain");
process.exit(0);
