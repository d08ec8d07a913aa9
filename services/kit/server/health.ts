import { Code } from "@connectrpc/connect";

import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import type { Handlers } from "./handlers.ts";
import type { OfferedService } from "./route.ts";

/** Whether a server accepts calls, for gRPC health checks and for `GET /readyz`. */
interface HealthState {
  readonly binding: OfferedService;
  readonly isServing: boolean;
  /** Of the whole server, or of one of its services. */
  setServing(isServing: boolean, serviceName?: string): void;
}

/**
 * What the page at a path says: `/livez` is good while the process runs, `/readyz` and its older name `/healthz` until
 * it drains. Undefined for every other path.
 */
export const healthAt = (path: string | undefined, isServing: boolean): boolean | undefined => {
  if (path === "/livez") return true;
  return path === "/readyz" || path === "/healthz" ? isServing : undefined;
};

/** The health of a server with these services, which are ready unless the server or the service is said not to be. */
export const createHealth = (serviceNames: readonly string[]): HealthState => {
  const names = new Set(["", ...serviceNames]);
  const waiting = new Set<() => void>();
  let isServing = true;
  const away = new Set<string>();
  const status = (service: string): Status => (isServing && !away.has(service) ? Status.SERVING : Status.NOT_SERVING);
  const changed = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const done = () => {
        waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      waiting.add(done);
      signal.addEventListener("abort", done);
    });
  const handlers: Handlers<typeof Health, undefined> = {
    check: async ({ service }) => {
      if (!names.has(service)) throw new ProtocolError(Code.NotFound, `There is no service ${service}.`);
      return { status: status(service) };
    },
    async *watch({ service }, { signal }) {
      if (!names.has(service)) {
        yield { status: Status.SERVICE_UNKNOWN };
        while (!signal.aborted) await changed(signal);
        return;
      }
      let sent: Status | undefined;
      while (!signal.aborted) {
        if (sent !== status(service)) {
          sent = status(service);
          yield { status: sent };
        } else await changed(signal);
      }
    },
  };
  return {
    binding: { service: Health, handlers, app: undefined, isOpen: true },
    get isServing() {
      return isServing;
    },
    setServing: (serving, serviceName) => {
      if (serviceName === undefined) isServing = serving;
      else if (serving) away.delete(serviceName);
      else away.add(serviceName);
      for (const wake of waiting) wake();
    },
  };
};
