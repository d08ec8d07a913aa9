import type { IncomingMessage, RequestOptions } from "node:http";
import { request as requestByHttp } from "node:http";
import { request as requestByHttps } from "node:https";

import type { ClientTls } from "../kit/tls/client-tls.ts";
import { connectionOptions } from "../kit/tls/client-tls.ts";
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
 * Asks for the page `/healthz`: the gateway on its admin port, a service where it serves RPCs. Resolves with whether
 * the process is serving; rejects when it does not answer.
 */
export const isServing = ({ urls, tls, limitMs }: HealthQuestion): Promise<boolean> => {
  const { admin, rpc, socket } = urls;
  const address = admin ?? socket ?? rpc ?? "";
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const answered = (response: IncomingMessage): void => {
    response.resume();
    resolve(response.statusCode === 200);
  };
  const options = { path: "/healthz", agent: false, signal: AbortSignal.timeout(limitMs) } as const;
  const request = address.startsWith("https:")
    ? requestByHttps({ ...options, ...placeOf(address), ...connectionOptions(tls) }, answered)
    : requestByHttp({ ...options, ...placeOf(address) }, answered);
  request.once("error", reject);
  request.end();
  return promise;
};

const placeOf = (address: string): RequestOptions => {
  if (address.startsWith("unix:")) return { socketPath: address.slice("unix:".length) };
  const { hostname, port } = new URL(address);
  return { host: hostname.replace(/^\[|\]$/g, ""), port };
};

/**
 * Resolves when the process shows that it runs: by any answer, also a refusal, or by closing the connection, as it does
 * when it has too many. Rejects when it shows nothing. What this process itself cannot open proves nothing.
 */
export const showsLife = async (question: HealthQuestion): Promise<void> => {
  try {
    await isServing(question);
  } catch (error) {
    if (!provingNothing.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
};

/** Why a connection fails that the process closed, or that could not be opened here. */
const provingNothing = ["ECONNRESET", "EMFILE", "ENFILE"];
