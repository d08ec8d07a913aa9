import { randomFillSync } from "node:crypto";

/** A trace and the current span in it, as in W3C Trace Context. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits: the parent span of further work. */
  readonly spanId: string;
  /** Bit 0: the caller records this trace. */
  readonly flags: number;
  /** The additions of tracing systems, passed on unchanged. */
  readonly state: string;
}

/** Longer lists are dropped, as the standard allows from this length on. */
const stateLengthMax = 512;

const traceparentPattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const statePattern = /^[\x20-\x7e]+$/;

/**
 * Parses the `traceparent` and `tracestate` headers. Undefined without a valid `traceparent`: a caller's mistake starts
 * a new trace and never fails a call.
 */
export const parseTrace = (
  traceparent: string | undefined,
  tracestate: string | undefined,
): TraceContext | undefined => {
  if (traceparent === undefined) return undefined;
  const match = traceparentPattern.exec(traceparent.trim());
  if (match === null) return undefined;
  const [, version = "", traceId = "", spanId = "", flags = "", rest] = match;
  // Later versions may add parts; the first one has none.
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const isStateGood = tracestate !== undefined && tracestate.length <= stateLengthMax && statePattern.test(tracestate);
  return { traceId, spanId, flags: Number.parseInt(flags, 16), state: isStateGood ? tracestate : "" };
};

/** The `traceparent` header of work under this span. */
export const formatTraceparent = ({ traceId, spanId, flags }: TraceContext): string =>
  // The flags that this version of the standard knows; others must be sent as zero.
  `00-${traceId}-${spanId}-0${flags & 1}`;

/** The HTTP headers of a trace context. */
export const traceHeaders = (trace: TraceContext): Record<string, string> => setTrace({}, trace);

/** Sets the headers of a trace context among others, which are returned. */
export const setTrace = (headers: Record<string, string>, trace: TraceContext): Record<string, string> => {
  headers["traceparent"] = formatTraceparent(trace);
  if (trace.state !== "") headers["tracestate"] = trace.state;
  return headers;
};

/** The context of a new trace, which is not recorded yet. */
export const startTrace = (): TraceContext => {
  const ids = randomHex();
  return { traceId: ids.slice(0, 32), spanId: ids.slice(32), flags: 0, state: "" };
};

const idBytes = 24;
const pool = Buffer.alloc(idBytes * 256);
let used = pool.length;

/** 24 random bytes from a pool, because a system call for each costs more than the rest of a trace. */
const randomHex = (): string => {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += idBytes;
  return pool.toString("hex", used - idBytes, used);
};
