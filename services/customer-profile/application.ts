import type { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { Jobs } from "../kit/jobs/jobs.ts";
import { createJobs, jobTables } from "../kit/jobs/jobs.ts";
import type { KeyNames } from "../kit/keyring/key-names.ts";
import { anyKeyNames } from "../kit/keyring/key-names.ts";
import type { Keyring } from "../kit/keyring/keyring.ts";
import { openKeyring } from "../kit/keyring/keyring.ts";
import { masterKeysFile } from "../kit/keyring/master-keys.ts";
import { startRewrapping } from "../kit/keyring/rewrapping.ts";
import type { Logger } from "../kit/log/log.ts";
import type { PageTokens } from "../kit/page-tokens/page-tokens.ts";
import { createPageTokens, pageTokenKey } from "../kit/page-tokens/page-tokens.ts";
import type { UnaryHandler } from "../kit/server/handlers.ts";
import type { Store } from "../kit/store/store.ts";
import type { DomainKeyring } from "./encryption/domain-keys.ts";
import { createDomainKeyring } from "./encryption/domain-keys.ts";
import { limits } from "./limits.ts";
import type { Compaction } from "./work/compaction.ts";
import { createCompaction } from "./work/compaction.ts";
import { wrappedDomainKeys } from "./work/domain-key-rewrap.ts";
import { domainPurgeKind, purgeDomain } from "./work/domain-purge.ts";
import { objectTypePurgeKind, purgeObjectType } from "./work/object-type-purge.ts";
import { removalPolicy } from "./work/removal-policy.ts";
import { startExpiry } from "./work/expiry.ts";
import { domainKeys, jobTablesBase, pageTokenKeys } from "./store/layout.ts";

/** What the operations of this service work with. */
export interface Application {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly keyring: DomainKeyring;
  /** Which encryption keys can be named now. */
  readonly keyNames: KeyNames;
  readonly pageTokens: PageTokens;
  readonly jobs: Jobs;
  readonly compaction: Compaction;
  /** Begins work that no caller waits for: removal of deleted domains, expiry, wrapping anew. */
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
  /** The service's own directory; the master keys lie there. */
  readonly directory: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Unset: any name is that of a key. */
  readonly keyNames?: KeyNames;
}

/** Builds the application over an open store. */
export const createApplication = async (options: ApplicationOptions): Promise<Application> => {
  const { store, clock, ids, log, keyNames = anyKeyNames } = options;
  const rootKeyring = await openRootKeyring(options, keyNames);
  const keyring = createDomainKeyring(rootKeyring);
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
  let stopRewrapping: (() => Promise<void>) | undefined;
  let stopExpiry: (() => Promise<void>) | undefined;
  return {
    store,
    clock,
    ids,
    keyring,
    keyNames,
    pageTokens,
    jobs,
    compaction,
    start: () => {
      jobs.start();
      compaction.request();
      stopRewrapping = startRewrapping({
        keyring: rootKeyring,
        keys: wrappedDomainKeys(store, keyring),
        clock,
        log,
      });
      stopExpiry = startExpiry({ store, clock, log, compaction, keyring });
    },
    stop: async () => {
      await stopRewrapping?.();
      await stopExpiry?.();
      await jobs.stop();
      await compaction.stop();
    },
  };
};

/** The keyring over the service's master keys. Throws when they are missing, or not the ones that encrypted what is stored. */
const openRootKeyring = async (options: ApplicationOptions, names: KeyNames): Promise<Keyring> => {
  const { store, directory, clock, log } = options;
  const [first] = await store.read((reader) => reader.list(domainKeys, { limit: 1 }));
  return openKeyring({ path: masterKeysFile(directory), names, clock, log, sample: first?.value.key });
};
