import { setTimeout as delay } from "node:timers/promises";

import { Client } from "undici";

import { SendError } from "../../kit/outgoing/http-sender.ts";
import type { FunctionApi } from "../proxy/function-api.ts";
import { connectorOn, openConnection } from "../proxy/service-connections.ts";
import type { ServiceNetwork, ServicePath } from "../proxy/service-network.ts";
import { certificateProblemOf } from "../proxy/trusted-authorities.ts";

/** The endpoint to check: a URL or a function. */
export type CheckedEndpoint = CheckedUrl | { readonly functionArn: string };

/** A URL to check, with another one for checks if it has one. */
interface CheckedUrl {
  readonly url: string;
  readonly healthUrl: string | undefined;
  /** URL of the application's private link. Unset: it has none. */
  readonly privateLink?: string | undefined;
}

/** The outcome of a check. `details` are facts for the caller: short texts by name. */
export type HealthOutcome =
  | { readonly isHealthy: true }
  | { readonly isHealthy: false; readonly problem: string; readonly details: Readonly<Record<string, string>> };

/** Limits of a check. Times are milliseconds. */
export interface HealthLimits {
  /** Longest time of a whole check. */
  readonly checkMs: number;
  /** Longest time of one attempt. */
  readonly attemptMs: number;
  /** Attempts of a check; it succeeds with the first attempt that succeeds. */
  readonly attemptsMax: number;
  /** Time between two attempts. */
  readonly intervalMs: number;
}

const defaultHealthLimits: HealthLimits = { checkMs: 15_000, attemptMs: 6_000, attemptsMax: 2, intervalMs: 250 };

/** The dependencies of a check. */
export interface HealthSettings {
  readonly network: ServiceNetwork;
  readonly functions: Pick<FunctionApi, "check">;
  readonly limits?: Partial<HealthLimits>;
}

/** More addresses of one name are not asked. */
const addressesAskedMax = 16;
/** Longest time of a connection that nobody waits for any longer, in milliseconds. */
const connectMs = 10_000;
const noAnswerInTime = "there was no answer in time";

/** Success and redirects, which are not followed, count as healthy. */
const isHealthyStatus = (status: number): boolean => status >= 200 && status <= 399;

/**
 * Checks once whether an endpoint can receive requests. A URL with private addresses must answer GET with 200 to 399 at
 * one of them at least; a URL with a public address must accept a connection (with a valid certificate for https); a
 * function must exist and not have failed. Rejects only when the signal is aborted.
 */
export const checkHealth = async (
  endpoint: CheckedEndpoint,
  settings: HealthSettings,
  signal: AbortSignal,
): Promise<HealthOutcome> => {
  const limits = { ...defaultHealthLimits, ...settings.limits };
  const deadline = AbortSignal.timeout(limits.checkMs);
  const within = AbortSignal.any([signal, deadline]);
  let outcome: HealthOutcome = unhealthy("the check took too long");
  for (let attempt = 1; attempt <= limits.attemptsMax; attempt++) {
    if (attempt > 1) await delay(limits.intervalMs, undefined, { signal: within }).catch(() => {});
    if (deadline.aborted) break;
    outcome = await attemptOnce(endpoint, settings, AbortSignal.any([within, AbortSignal.timeout(limits.attemptMs)]));
    signal.throwIfAborted();
    if (outcome.isHealthy) return outcome;
  }
  return outcome;
};

const unhealthy = (problem: string, details: Readonly<Record<string, string>> = {}): HealthOutcome => ({
  isHealthy: false,
  problem,
  details,
});

const attemptOnce = async (
  endpoint: CheckedEndpoint,
  settings: HealthSettings,
  signal: AbortSignal,
): Promise<HealthOutcome> => {
  try {
    if ("url" in endpoint) return await checkUrl(endpoint, settings, signal);
    const state = await settings.functions.check(endpoint.functionArn, signal);
    return state.isReady ? { isHealthy: true } : unhealthy(state.problem, { Arn: endpoint.functionArn });
  } catch (error) {
    const details: Record<string, string> =
      "url" in endpoint ? { Url: endpoint.healthUrl ?? endpoint.url } : { Arn: endpoint.functionArn };
    return unhealthy(signal.aborted ? noAnswerInTime : reasonOf(error), details);
  }
};

const checkUrl = async (
  { url, healthUrl, privateLink }: CheckedUrl,
  settings: HealthSettings,
  signal: AbortSignal,
): Promise<HealthOutcome> => {
  const asked = healthUrl ?? url;
  const { isPrivate } = await settings.network.pathTo(new URL(url), privateLink);
  const path = await settings.network.pathTo(new URL(asked), privateLink);
  if (path.isPrivate !== isPrivate && healthUrl !== undefined)
    return unhealthy("Url and HealthUrl are not both public or both private", { HealthUrl: healthUrl });
  if (healthUrl !== undefined && isPrivate && new URL(healthUrl).hostname !== new URL(url).hostname)
    return unhealthy("Url and HealthUrl are private and have not the same host", { HealthUrl: healthUrl });
  if (!isPrivate) return checkConnection(asked, path, signal);
  return firstHealthy(
    path.addresses.slice(0, addressesAskedMax).map(async (address) => {
      try {
        return await ask(asked, { ...path, addresses: [address] }, signal);
      } catch (error) {
        return unhealthy(signal.aborted ? noAnswerInTime : reasonOf(error), { Url: asked });
      }
    }),
  );
};

/** Asks one address of a private URL. */
const ask = async (url: string, path: ServicePath, signal: AbortSignal): Promise<HealthOutcome> => {
  const { origin, pathname, search } = new URL(url);
  const client = new Client(origin, { connect: connectorOn(path, connectMs), allowH2: false });
  try {
    const headers = { "user-agent": "quartet-health-check" };
    const answer = await client.request({ path: pathname + search, method: "GET", headers, signal });
    answer.body.on("error", () => {}).destroy();
    if (isHealthyStatus(answer.statusCode)) return { isHealthy: true };
    return unhealthy(`it answered ${answer.statusCode}`, { Url: url, StatusCode: String(answer.statusCode) });
  } finally {
    await client.destroy();
  }
};

/** The first healthy outcome, or the last of all. */
const firstHealthy = (asking: readonly Promise<HealthOutcome>[]): Promise<HealthOutcome> => {
  const { promise, resolve } = Promise.withResolvers<HealthOutcome>();
  let left = asking.length;
  for (const each of asking)
    void each.then((outcome) => {
      left -= 1;
      if (outcome.isHealthy || left === 0) resolve(outcome);
    });
  return promise;
};

const checkConnection = async (url: string, path: ServicePath, signal: AbortSignal): Promise<HealthOutcome> => {
  const opening = openConnection(connectorOn(path, connectMs), new URL(url));
  opening.then((socket) => socket.on("error", () => {}).destroy()).catch(() => {});
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(signal.reason);
  if (signal.aborted) giveUp();
  else signal.addEventListener("abort", giveUp, { once: true });
  try {
    await Promise.race([opening, givenUp]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
  return { isHealthy: true };
};

/** The reason of a failure for callers: without a stack, and without an address that they do not know. */
const reasonOf = (error: unknown): string => {
  const { code, name } = (error instanceof SendError ? error.cause : error) as { code?: string; name?: string };
  if (name === "AnswerLateError") return noAnswerInTime;
  if (name === "AddressRefusedError") return "its address is private, which is not allowed";
  if (code === "ECONNREFUSED") return "the connection was refused";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "its name could not be resolved";
  if (name === "ConnectRefusedError") return "the HTTP proxy on the way to it opened no connection";
  const certificateProblem = certificateProblemOf(error);
  if (certificateProblem !== undefined) return `its certificate ${certificateProblem}`;
  return "no valid answer came";
};
