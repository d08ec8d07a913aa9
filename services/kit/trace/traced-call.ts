import type { Attributes, Context, Span, Tracer } from "@opentelemetry/api";
import {
  context,
  createTraceState,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";

import type { Traced } from "./current-trace.ts";
import { runTraced, runUntraced } from "./current-trace.ts";
import type { TraceContext } from "./trace-context.ts";
import { parseTrace, startTrace } from "./trace-context.ts";

/** The kind of a span: serving a call, making one, or running deferred work. */
type TracedCallKind = "server" | "client" | "consumer";

/** The API's numbers of the kinds. */
const kinds = { server: 1, client: 2, consumer: 4 } as const satisfies Record<TracedCallKind, number>;

/** The trace of the work that caused a piece of work. */
interface TraceOrigin {
  /** The received headers, or the context itself. Neither: a new trace begins. */
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  readonly parent?: TraceContext | undefined;
}

/**
 * One piece of work in a trace. Spans go through the OpenTelemetry API, so an installation that registers an SDK sees
 * them. Without one there are none, and only the caller's context, or that of a new trace, is passed on; both are
 * determined only when needed.
 */
export class TracedCall implements Traced {
  givenUp: (() => Error | undefined) | undefined;
  readonly #origin: TraceOrigin;
  readonly #span: Span | undefined;
  readonly #context: Context | undefined;
  #trace: TraceContext | undefined;

  constructor(name: string, kind: TracedCallKind, origin: TraceOrigin, attributes?: () => Attributes) {
    this.#origin = origin;
    const tracer = registeredTracer();
    if (tracer === undefined) return;
    const outer = outerContext(kind, parentOf(origin));
    this.#span = tracer.startSpan(name, { kind: kinds[kind], attributes: attributes?.() ?? {} }, outer);
    this.#context = trace.setSpan(outer, this.#span);
  }

  get trace(): TraceContext {
    this.#trace ??= this.#span === undefined ? (parentOf(this.#origin) ?? startTrace()) : placeOf(this.#span);
    return this.#trace;
  }

  /** Whether its end is noticed: without an SDK there is no span. */
  get hasSpan(): boolean {
    return this.#span !== undefined;
  }

  /** Runs a function as this work, also for other parts of the process that use the API. */
  run<T>(run: () => T): T {
    return this.#context === undefined ? runTraced(this, run) : context.with(this.#context, () => runTraced(this, run));
  }

  /** The work has ended; an error's text is for operators. Attributes are determined only if the span is recorded. */
  end(error?: string, attributes?: () => Attributes): void {
    if (this.#span === undefined) return;
    if (attributes !== undefined) this.#span.setAttributes(attributes());
    if (error !== undefined) this.#span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    this.#span.end();
  }
}

/** Runs a function outside of any trace, for loops that serve many traces. */
export const untraced = <T>(run: () => T): T => context.with(ROOT_CONTEXT, () => runUntraced(run));

/** The context of a span: this process's active one, unless the work is deferred; otherwise the caller's. */
const outerContext = (kind: TracedCallKind, parent: TraceContext | undefined): Context => {
  if (kind !== "consumer" && trace.getActiveSpan() !== undefined) return context.active();
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remoteOf(parent));
};

const parentOf = ({ parent, traceparent, tracestate }: TraceOrigin): TraceContext | undefined =>
  parent ?? parseTrace(traceparent, tracestate);

const remoteOf = ({ traceId, spanId, flags, state }: TraceContext) => ({
  traceId,
  spanId,
  traceFlags: flags,
  isRemote: true,
  ...(state === "" ? {} : { traceState: createTraceState(state) }),
});

const placeOf = (span: Span): TraceContext => {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  return { traceId, spanId, flags: traceFlags, state: traceState?.serialize() ?? "" };
};

const instrumentation = "quartet";
let found: { readonly provider: object; readonly tracer: Tracer } | undefined;

/** The tracer of the registered SDK; undefined without one. */
const registeredTracer = (): Tracer | undefined => {
  const provider = trace.getTracerProvider();
  if (found?.provider === provider) return found.tracer;
  const tracer =
    provider instanceof ProxyTracerProvider
      ? provider.getDelegateTracer(instrumentation)
      : provider.getTracer(instrumentation);
  found = tracer === undefined ? undefined : { provider, tracer };
  return tracer;
};
