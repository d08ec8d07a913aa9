import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { create } from "@bufbuild/protobuf";

import { IdentityService } from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import type { Application } from "../../../gateway/identity/application.ts";
import { openIdentityStore } from "../../../gateway/identity/open.ts";
import { identityHandlers } from "../../../gateway/identity/service.ts";
import { storedDirectory } from "../../../gateway/identity/stored-directory.ts";
import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import type { Declared } from "../../../services/kit/accounts/accounts.ts";
import type { AuditEntry, AuditLog } from "../../../services/kit/audit/audit-log.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import type { Logger } from "../../../services/kit/log/log.ts";
import type { CallContext } from "../../../services/kit/server/handlers.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { fixedIds } from "../../support/fixed-ids.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

export const shop = "111122223333";
export const root = rootCaller(shop);

/** A policy that allows an action on a resource. */
export const allowing = (action: string, resource = "*"): string =>
  JSON.stringify({ Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: action, Resource: resource }] });

/** The identity service over a real store, called without a server. */
export const openIdentity = async (
  declared: Partial<Declared> = {},
  directory?: string,
  log: Logger = silentLogger,
) => {
  const home = directory ?? (await temporaryDirectory());
  const clock = new FakeClock();
  const store = await openStore({ directory: join(home, "leveldb"), sync: false, log });
  const opened = await openIdentityStore({ store, directory: home, clock, log }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const { identities, keyUses, pages } = opened;
  const accounts = accountsOf({
    accounts: [],
    users: [],
    roles: [],
    organizations: new Map(),
    accessKeys: [],
    ...declared,
  });
  const app: Application = { identities, accounts, keyUses, pages, allowsHttpIssuers: false, clock, ids: fixedIds() };
  const stored = storedDirectory(identities, () => "canonical");
  const recorded: AuditEntry[] = [];
  const audit: AuditLog = { record: (entry) => void recorded.push(entry) };
  const call = async (
    name: keyof (typeof IdentityService)["method"],
    request: object,
    caller: Caller = root,
  ): Promise<Record<string, unknown>> => {
    const method = IdentityService.method[name];
    const handler = identityHandlers[name] as (request: unknown, context: CallContext<Application>) => unknown;
    const context = { app, method, caller, audit, log } as unknown as CallContext<Application>;
    return (await handler(create(method.input, request), context)) as Record<string, unknown>;
  };
  const close = async (): Promise<void> => {
    await opened.stop();
    await store.close();
  };
  return { home, store, clock, app, call, stored, identities, keyUses, recorded, close };
};

/** All bytes of the files under a directory, as Latin-1. */
export const bytesUnder = async (directory: string): Promise<string> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const contents = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1")));
  return contents.join("");
};
