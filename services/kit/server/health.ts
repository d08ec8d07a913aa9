import { Code } from "@connectrpc/connect";

import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import type { Handlers } from "./handlers.ts";
import type { AnyServiceBinding } from "./route.ts";

/** Whether a server takes calls, for those who ask over gRPC and for those who ask `GET /healthz`. */
export interface HealthState {
  readonly binding: AnyServiceBinding;
  readonly isServing: boolean;
  setServing(isServing: boolean): void;
}

/** The health of a server with these services. All of them are ready or none is. */
export const createHealth = (serviceNames: readonly string[]): HealthState => {
  const names = new Set(["", ...serviceNames]);
  const waiting = new Set<() => void>();
  let isServing = true;
  const status = (): Status => (isServing ? Status.SERVING : Status.NOT_SERVING);
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
      return { status: status() };
    },
    async *watch({ service }, { signal }) {
      if (!names.has(service)) {
        yield { status: Status.SERVICE_UNKNOWN };
        while (!signal.aborted) await changed(signal);
        return;
      }
      let told: Status | undefined;
      while (!signal.aborted) {
        if (told !== status()) {
          told = status();
          yield { status: told };
        } else await changed(signal);
      }
    },
  };
  return {
    binding: { service: Health, handlers, app: undefined, isOpen: true },
    get isServing() {
      return isServing;
    },
    setServing: (serving) => {
      if (serving === isServing) return;
      isServing = serving;
      for (const wake of waiting) wake();
    },
  };
};
