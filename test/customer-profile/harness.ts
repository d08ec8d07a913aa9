import { join } from "node:path";

import type { Client } from "@connectrpc/connect";
import { ConnectError, createClient } from "@connectrpc/connect";
import { onTestFinished } from "vitest";

import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ErrorReasonSchema } from "../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Application } from "../../services/customer-profile/application.ts";
import { createApplication } from "../../services/customer-profile/application.ts";
import { handlers } from "../../services/customer-profile/service.ts";
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

export type ProfileClient = Client<typeof CustomerProfileService>;

/** The service over a real store and a real socket, with a clock that stands still. */
export interface Harness {
  readonly directory: string;
  readonly clock: FakeClock;
  readonly app: Application;
  readonly store: Store;
  /** The owner account's calls. */
  readonly client: ProfileClient;
  /** Calls of another account; an empty text: of nobody. */
  clientOf(accountId: string): ProfileClient;
  stop(): Promise<void>;
}

export interface HarnessOptions {
  /** Unset: a new one that is removed when the test ends. */
  readonly directory?: string;
  readonly clock?: FakeClock;
  /** False: removals and expiry do not run. Unset: true. */
  readonly works?: boolean;
  /** Unset: any name is that of a key. */
  readonly keyNames?: KeyNames;
}

export const ownerAccount = "000000000000";

/** Starts the service; it is stopped when the test ends. */
export const startHarness = async (options: HarnessOptions = {}): Promise<Harness> => {
  const directory = options.directory ?? (await temporaryDirectory());
  const clock = options.clock ?? new FakeClock();
  const store = await openStore({ directory: join(directory, "leveldb"), sync: false });
  const keyNames = options.keyNames;
  const application = { store, directory, clock, ids: randomIds, log: silentLogger, ...(keyNames && { keyNames }) };
  const app = await createApplication(application).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  if (options.works !== false) app.start();
  const server = await startServer({
    name: "customer-profile",
    listen: { host: "127.0.0.1", port: 0 },
    services: [{ service: CustomerProfileService, handlers, errors: ErrorReasonSchema, app }],
    // Tests say who calls; the kit's own tests hold that tokens are verified.
    authenticate: async (authorization) => {
      const accountId = authorization?.replace("Bearer ", "") ?? "";
      return /^\d{12}$/.test(accountId) ? rootCaller(accountId) : anonymousCaller;
    },
    log: silentLogger,
  });
  const transports = new Map<string, ReturnType<typeof createTransport>>();
  const clientOf = (accountId: string): ProfileClient => {
    const transport =
      transports.get(accountId) ??
      createTransport({ address: server.url, engine: "connect", token: async () => accountId || "nobody" });
    transports.set(accountId, transport);
    return createClient(CustomerProfileService, transport);
  };
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    for (const transport of transports.values()) await transport.close();
    await server.stop(1_000);
    await app.stop();
    await store.close();
  };
  onTestFinished(stop);
  return { directory, clock, app, store, client: clientOf(ownerAccount), clientOf, stop };
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
