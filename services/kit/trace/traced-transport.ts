import type { DescMethod } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { ConnectError } from "@connectrpc/connect";

import type { HeadersInput } from "../wire/headers-input.ts";
import { isHeaderRecord } from "../wire/headers-input.ts";
import type { TraceContext } from "./trace-context.ts";
import { setTrace, traceHeaders } from "./trace-context.ts";
import { currentTrace } from "./current-trace.ts";
import { TracedCall } from "./traced-call.ts";

/** Sends servers the trace of a call. Calls outside of any trace are sent unchanged. */
export const tracedTransport = (transport: Transport): Transport => ({
  unary: (method, signal, timeoutMs, header, input, values) =>
    traced(method, header, (lines) => transport.unary(method, signal, timeoutMs, lines, input, values)),
  // The span of a stream ends when its answer begins: how long it is read depends on the reader.
  stream: (method, signal, timeoutMs, header, input, values) =>
    traced(method, header, (lines) => transport.stream(method, signal, timeoutMs, lines, input, values)),
});

const traced = <Answer>(
  method: DescMethod,
  header: HeadersInput | undefined,
  call: (header: HeadersInput | undefined) => Promise<Answer>,
): Promise<Answer> => {
  const work = beginCall(method);
  if (work === undefined) return call(header);
  const answer = call(withTrace(header, work.trace));
  return work.hasSpan ? endingWith(work, answer) : answer;
};

const endingWith = async <Answer>(work: TracedCall, answer: Promise<Answer>): Promise<Answer> => {
  try {
    const answered = await answer;
    work.end();
    return answered;
  } catch (error) {
    work.end(ConnectError.from(error).message);
    throw error;
  }
};

const beginCall = (method: DescMethod): TracedCall | undefined => {
  const parent = currentTrace();
  if (parent === undefined) return undefined;
  return new TracedCall(`${method.parent.typeName}/${method.name}`, "client", { parent }, () => ({
    "rpc.system": "connect_rpc",
    "rpc.service": method.parent.typeName,
    "rpc.method": method.name,
  }));
};

const withTrace = (given: HeadersInput | undefined, trace: TraceContext): HeadersInput => {
  if (given === undefined) return traceHeaders(trace);
  if (isHeaderRecord(given)) return setTrace({ ...given }, trace);
  const headers = new Headers(given);
  for (const [name, value] of Object.entries(traceHeaders(trace))) headers.set(name, value);
  return headers;
};
