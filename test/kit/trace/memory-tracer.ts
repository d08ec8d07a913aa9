import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";

import type { Attributes, Context, ContextManager, Span, SpanContext, SpanOptions, Tracer } from "@opentelemetry/api";
import { context, ROOT_CONTEXT, trace } from "@opentelemetry/api";

/** A span as an exporter would get it. */
export interface RecordedSpan {
  readonly name: string;
  readonly kind: number | undefined;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Attributes;
  readonly error: string | undefined;
  readonly isEnded: boolean;
}

/** A replacement of an SDK: a provider of tracers that keeps every span, and a context manager. */
export interface MemoryTracer {
  readonly spans: readonly RecordedSpan[];
  /** Takes the provider and the context manager back. */
  unregister(): void;
}

/** Registers a provider through the API, as an SDK does. */
export const registerMemoryTracer = (): MemoryTracer => {
  const spans: (RecordedSpan & { isEnded: boolean; error: string | undefined; attributes: Attributes })[] = [];
  const startSpan = (name: string, options: SpanOptions = {}, outer: Context = context.active()): Span => {
    const parent = trace.getSpanContext(outer);
    const own: SpanContext = {
      traceId: parent?.traceId ?? randomBytes(16).toString("hex"),
      spanId: randomBytes(8).toString("hex"),
      traceFlags: 1,
      ...(parent?.traceState === undefined ? {} : { traceState: parent.traceState }),
    };
    const recorded: (typeof spans)[number] = {
      name,
      kind: options.kind,
      traceId: own.traceId,
      spanId: own.spanId,
      parentSpanId: parent?.spanId,
      attributes: { ...options.attributes },
      error: undefined,
      isEnded: false,
    };
    spans.push(recorded);
    const span = {
      spanContext: () => own,
      setAttributes: (attributes: Attributes) => {
        Object.assign(recorded.attributes, attributes);
        return span;
      },
      setStatus: ({ message }: { message?: string }) => {
        recorded.error = message;
        return span;
      },
      end: () => {
        recorded.isEnded = true;
      },
      isRecording: () => true,
    } as unknown as Span;
    return span;
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as unknown as Tracer });
  context.setGlobalContextManager(asyncContextManager());
  return {
    spans,
    unregister: () => {
      trace.disable();
      context.disable();
    },
  };
};

const asyncContextManager = (): ContextManager => {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, run, self, ...given) => storage.run(active, () => run.apply(self as never, given)),
    bind: (_context, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
};
