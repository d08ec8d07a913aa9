import { Code, ConnectError, createClient } from "@connectrpc/connect";

import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
import { createTransport } from "../kit/client/transport.ts";
import type { ClientTls } from "../kit/tls/client-tls.ts";
import type { Urls } from "./start-up.ts";

/** How a process is asked for its health. */
export interface HealthQuestion {
  /** Where it listens: a gateway by `admin`, a service by `socket` or `rpc`. */
  readonly urls: Urls;
  /** How to connect to a service that uses TLS. */
  readonly tls: ClientTls | undefined;
  /** Longest time in milliseconds until the answer. */
  readonly limitMs: number;
}

/**
 * Asks the gateway on its admin port, a service over RPC. Resolves with whether the process is serving; rejects when it
 * does not answer.
 */
export const isServing = async ({ urls, tls, limitMs }: HealthQuestion): Promise<boolean> => {
  const { admin, rpc, socket } = urls;
  if (admin !== undefined) return (await fetch(`${admin}/healthz`, { signal: AbortSignal.timeout(limitMs) })).ok;
  const transport = createTransport({ address: socket ?? rpc ?? "", engine: "connect", tls, timeoutMs: limitMs });
  try {
    const { status } = await createClient(Health, transport).check({});
    return status === Status.SERVING;
  } finally {
    await transport.close();
  }
};

/**
 * Resolves when the process shows that it runs: by any answer, also a refusal, or by closing the connection, as it does
 * when it has too many. Rejects when it shows nothing. What this process itself cannot open proves nothing.
 */
export const showsLife = async (question: HealthQuestion): Promise<void> => {
  try {
    await isServing(question);
  } catch (error) {
    if (isMiss(error)) throw error;
  }
};

const isMiss = (error: unknown): boolean => {
  const code = systemCode(error);
  if (code !== undefined) return !provingNothing.includes(code);
  return !(error instanceof ConnectError) || error.code === Code.DeadlineExceeded;
};

/** What the system said, from the error or its causes; undefined where a server answered. */
const systemCode = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === "string" ? code : systemCode(error.cause);
};

/** Why a connection fails that the process closed, or that could not be opened here. */
const provingNothing = ["ECONNRESET", "UND_ERR_SOCKET", "EMFILE", "ENFILE"];
