import { join } from "node:path";

import type { DescEnum, DescService } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";
import { onTestFinished } from "vitest";

import { createTransport } from "../../services/kit/client/transport.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import { anonymousCaller, rootCaller } from "../../services/kit/identity/caller.ts";
import type { Ids } from "../../services/kit/ids/ids.ts";
import { randomIds } from "../../services/kit/ids/ids.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import type { Handlers } from "../../services/kit/server/handlers.ts";
import { startServer } from "../../services/kit/server/server.ts";
import type { Store } from "../../services/kit/store/store.ts";
import { openStore } from "../../services/kit/store/store.ts";
import type { StoreLimits } from "../../services/kit/store/store.ts";
import { silentLogger } from "./silent-logger.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

/** The account whose calls `client` makes. */
export const ownerAccount = "000000000000";

/** What every service is opened from. */
export interface HarnessParts {
  readonly store: Store;
  readonly directory: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** A service opened over its store: what its handlers work with, and how its background work ends. */
interface Opened<App> {
  readonly app: App;
  stop(): Promise<void>;
}

export interface ServiceHarnessOptions<S extends DescService, App, O extends Opened<App>> {
  readonly service: S;
  readonly handlers: Handlers<S, App>;
  readonly errors: DescEnum;
  readonly open: (parts: HarnessParts) => Promise<O>;
  readonly clock: Clock;
  /** Unset: a new one that is removed when the test ends. */
  readonly directory?: string | undefined;
  readonly storeLimits?: Partial<StoreLimits> | undefined;
  /** What the server, the store and the service log to. Unset: nothing is logged. */
  readonly log?: Logger | undefined;
}

/** A service over a real store and a real socket. */
export interface ServiceHarness<S extends DescService, App, O extends Opened<App>> {
  readonly directory: string;
  /** Where the service answers RPCs. */
  readonly url: string;
  readonly store: Store;
  /** What `open` returned. */
  readonly opened: O;
  /** Calls of an account that a process vouches for; an empty account: of nobody. */
  clientOf(accountId: string, issuer?: string): Client<S>;
  stop(): Promise<void>;
}

/**
 * Starts a service; it is stopped when the test ends. Tests say who calls by a token `account` or `account@issuer`; the
 * kit's own tests hold that tokens are verified.
 */
export const startServiceHarness = async <S extends DescService, App, O extends Opened<App>>(
  options: ServiceHarnessOptions<S, App, O>,
): Promise<ServiceHarness<S, App, O>> => {
  const { service, handlers, errors, clock, open, log = silentLogger } = options;
  const directory = options.directory ?? (await temporaryDirectory());
  const store = await openStore({
    directory: join(directory, "leveldb"),
    sync: false,
    log,
    ...(options.storeLimits && { limits: options.storeLimits }),
  });
  const opened = await open({ store, directory, clock, ids: randomIds, log }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const server = await startServer({
    name: service.typeName,
    listen: { host: "127.0.0.1", port: 0 },
    services: [{ service, handlers, errors, app: opened.app }],
    authenticate: async (authorization) => callerOf(authorization?.replace("Bearer ", "") ?? ""),
    log,
    clock,
  });
  const transports = new Map<string, ReturnType<typeof createTransport>>();
  const clientOf = (accountId: string, issuer = ""): Client<S> => {
    const token = issuer === "" ? accountId : `${accountId}@${issuer}`;
    const transport =
      transports.get(token) ??
      createTransport({
        address: server.url,
        engine: "connect",
        ...(accountId === "" ? {} : { token: async () => token }),
      });
    transports.set(token, transport);
    return createClient(service, transport);
  };
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    for (const transport of transports.values()) await transport.close();
    await server.stop(1_000);
    await opened.stop();
    await store.close();
  };
  onTestFinished(stop);
  return { directory, url: server.url, store, opened, clientOf, stop };
};

const callerOf = (token: string): Caller => {
  const [accountId = "", issuer = ""] = token.split("@");
  return /^\d{12}$/.test(accountId) ? { ...rootCaller(accountId), issuer } : anonymousCaller;
};
