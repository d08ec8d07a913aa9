import { join } from "node:path";

import type { Client } from "@connectrpc/connect";
import { ConnectError, createClient } from "@connectrpc/connect";
import { onTestFinished } from "vitest";

import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { ErrorReasonSchema } from "../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { Application } from "../../services/event-bus/application.ts";
import type { Limits } from "../../services/event-bus/limits.ts";
import { openEventBus } from "../../services/event-bus/open.ts";
import { handlers } from "../../services/event-bus/service.ts";
import type { DeadLetter } from "../../services/event-bus/store/dead-letter.ts";
import { listDeadLetters } from "../../services/event-bus/store/dead-letter.ts";
import { createTransport } from "../../services/kit/client/transport.ts";
import { anonymousCaller, rootCaller } from "../../services/kit/identity/caller.ts";
import { randomIds } from "../../services/kit/ids/ids.ts";
import type { KeyNames } from "../../services/kit/keyring/key-names.ts";
import { startServer } from "../../services/kit/server/server.ts";
import type { Store } from "../../services/kit/store/store.ts";
import { openStore } from "../../services/kit/store/store.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { silentLogger } from "../support/silent-logger.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

export type EventBusClient = Client<typeof EventBusService>;

/** The service over a real store and a real socket, with a clock that stands still. */
export interface Harness {
  readonly directory: string;
  /** Where the service answers RPCs. */
  readonly url: string;
  readonly clock: FakeClock;
  readonly app: Application;
  readonly store: Store;
  /** The owner account's calls, sent by the gateway. */
  readonly client: EventBusClient;
  /** Calls of an account that a process vouches for; an empty account: of nobody. */
  clientOf(accountId: string, issuer?: string): EventBusClient;
  /** The owner account's dead letters, the latest first. */
  deadLetters(): Promise<DeadLetter[]>;
  stop(): Promise<void>;
}

export interface HarnessOptions {
  /** Unset: a new one that is removed when the test ends. */
  readonly directory?: string;
  readonly clock?: FakeClock;
  /** False: nothing is delivered and no schedule runs. Unset: true. */
  readonly works?: boolean;
  /** Unset: any name is that of a key. */
  readonly keyNames?: KeyNames;
  readonly limits?: Partial<Limits>;
  /** Unset: true. */
  readonly allowsPrivateTargets?: boolean;
}

export const ownerAccount = "000000000000";

/** Starts the service; it is stopped when the test ends. Retry delays are three quarters of the full ones. */
export const startHarness = async (options: HarnessOptions = {}): Promise<Harness> => {
  const directory = options.directory ?? (await temporaryDirectory());
  const clock = options.clock ?? new FakeClock();
  const store = await openStore({ directory: join(directory, "leveldb"), sync: false });
  const opened = await openEventBus({
    store,
    directory,
    clock,
    ids: randomIds,
    log: silentLogger,
    region: "us-east-1",
    dialect: "amz",
    allowsPrivateTargets: options.allowsPrivateTargets ?? true,
    random: () => 0.5,
    works: options.works ?? true,
    ...(options.keyNames && { keyNames: options.keyNames }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
  const { app } = opened;
  const server = await startServer({
    name: "event-bus",
    listen: { host: "127.0.0.1", port: 0 },
    services: [{ service: EventBusService, handlers, errors: ErrorReasonSchema, app }],
    // Tests say who calls; the kit's own tests hold that tokens are verified.
    authenticate: async (authorization) => {
      const [accountId = "", issuer = ""] = (authorization?.replace("Bearer ", "") ?? "").split("@");
      return /^\d{12}$/.test(accountId) ? { ...rootCaller(accountId), issuer } : anonymousCaller;
    },
    log: silentLogger,
  });
  const transports = new Map<string, ReturnType<typeof createTransport>>();
  const clientOf = (accountId: string, issuer = "gateway"): EventBusClient => {
    const token = `${accountId}@${issuer}`;
    const transport =
      transports.get(token) ?? createTransport({ address: server.url, engine: "connect", token: async () => token });
    transports.set(token, transport);
    return createClient(EventBusService, transport);
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
  return {
    directory,
    url: server.url,
    clock,
    app,
    store,
    client: clientOf(ownerAccount),
    clientOf,
    deadLetters: () =>
      store.read((reader) => listDeadLetters(reader, ownerAccount, { after: undefined, limit: 1_000 })),
    stop,
  };
};

/** What a call was refused with: `REASON: message`; or `answered` when it was not refused. */
export const refusalOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return "answered";
  } catch (error) {
    const refusal = ConnectError.from(error);
    const [info] = refusal.findDetails(ErrorInfoSchema);
    return `${info?.reason}: ${refusal.rawMessage}`;
  }
};
