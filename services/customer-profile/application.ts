import { join } from "node:path";

import type { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { Jobs } from "../kit/jobs/jobs.ts";
import { createJobs, jobTables } from "../kit/jobs/jobs.ts";
import type { Logger } from "../kit/log/log.ts";
import type { PageTokens } from "../kit/page-tokens/page-tokens.ts";
import { createPageTokens, pageTokenKey } from "../kit/page-tokens/page-tokens.ts";
import type { UnaryHandler } from "../kit/server/handlers.ts";
import type { Store } from "../kit/store/store.ts";
import type { Keyring } from "./encryption/keyring.ts";
import { createKeyring } from "./encryption/keyring.ts";
import { loadMasterKey } from "./encryption/master-key.ts";
import { limits } from "./limits.ts";
import type { Compaction } from "./maintenance/compaction.ts";
import { createCompaction } from "./maintenance/compaction.ts";
import { domainPurgeKind, purgeDomain } from "./maintenance/domain-purge.ts";
import { objectTypePurgeKind, purgeObjectType } from "./maintenance/object-type-purge.ts";
import { removalPolicy } from "./maintenance/removal-policy.ts";
import { startExpiry } from "./maintenance/expiry.ts";
import { domainKeys, jobTablesBase, pageTokenKeys } from "./store/layout.ts";

/** What the operations of this service work with. */
export interface Application {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly keyring: Keyring;
  readonly pageTokens: PageTokens;
  readonly jobs: Jobs;
  readonly compaction: Compaction;
  /** Begins work that no caller waits for: removal of deleted domains, expiry. */
  start(): void;
  /** Ends that work; what was not finished goes on after the next start. */
  stop(): Promise<void>;
}

/** The handler of one operation. */
export type Operation<Name extends keyof (typeof CustomerProfileService)["method"]> = UnaryHandler<
  (typeof CustomerProfileService)["method"][Name],
  Application
>;

/** What an application is built from. */
export interface ApplicationOptions {
  readonly store: Store;
  /** The service's own directory; the master key lies there. */
  readonly directory: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** Builds the application over an open store. */
export const createApplication = async (options: ApplicationOptions): Promise<Application> => {
  const { store, clock, ids, log } = options;
  const keyring = await openKeyring(store, join(options.directory, "master.key"));
  const pageTokens = createPageTokens({
    key: await pageTokenKey(store, pageTokenKeys),
    clock,
    lifetimeMs: limits.pageTokenLifetimeMs,
  });
  const compaction = createCompaction(store, clock, log);
  const jobs = createJobs({
    store,
    tables: jobTables(jobTablesBase),
    clock,
    ids,
    log,
    handlers: {
      [domainPurgeKind]: (job, { signal }) => purgeDomain(store, job.payload, signal),
      [objectTypePurgeKind]: (job, { signal }) => purgeObjectType(store, keyring, job.payload, signal),
    },
    policy: { [domainPurgeKind]: removalPolicy, [objectTypePurgeKind]: removalPolicy },
  });
  let stopExpiry: (() => Promise<void>) | undefined;
  return {
    store,
    clock,
    ids,
    keyring,
    pageTokens,
    jobs,
    compaction,
    start: () => {
      jobs.start();
      compaction.request();
      stopExpiry = startExpiry({ store, clock, log, compaction, keyring });
    },
    stop: async () => {
      await stopExpiry?.();
      await jobs.stop();
      await compaction.stop();
    },
  };
};

/** The keyring over the service's master key. Throws when that is missing, or not the one that encrypted what is stored. */
const openKeyring = async (store: Store, masterKeyPath: string): Promise<Keyring> => {
  const [first] = await store.read((reader) => reader.list(domainKeys, { limit: 1 }));
  const keyring = createKeyring(await loadMasterKey(masterKeyPath, first !== undefined));
  if (first === undefined) return keyring;
  try {
    keyring.openDomain(first.key[0], first.value);
  } catch (cause) {
    throw new Error(`the master key ${masterKeyPath} is not the one that encrypted the stored profiles`, { cause });
  }
  return keyring;
};
