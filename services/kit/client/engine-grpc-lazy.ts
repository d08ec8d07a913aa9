import type { ClosableTransport, EngineOptions } from "./engine.ts";

/** The gRPC engine, which is loaded with its library by the first call: most processes never make one. */
export const createLazyGrpcEngine = (options: EngineOptions): ClosableTransport => {
  let loaded: Promise<ClosableTransport> | undefined;
  const load = (): Promise<ClosableTransport> => (loaded ??= loadEngine(options));
  return {
    unary: async (...call) => (await load()).unary(...call),
    stream: async (...call) => (await load()).stream(...call),
    close: async () => (await loaded)?.close(),
  };
};

const loadEngine = async (options: EngineOptions): Promise<ClosableTransport> => {
  const { createGrpcEngine } = await import("./engine-grpc.ts");
  return createGrpcEngine(options);
};
