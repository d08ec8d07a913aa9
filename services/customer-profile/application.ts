import type { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import type { AccessAccounts } from "../kit/access/decide.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { Jobs } from "../kit/jobs/jobs.ts";
import type { KeyNames } from "../kit/keyring/key-names.ts";
import type { Pages } from "../kit/page-tokens/pages.ts";
import type { UnaryHandler } from "../kit/server/handlers.ts";
import type { Store } from "../kit/store/store.ts";
import type { Access } from "./access/access.ts";
import type { DomainKeyring } from "./encryption/domain-keys.ts";
import type { Compaction } from "./work/compaction.ts";

/** The dependencies of the operations. */
export interface Application {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly keyring: DomainKeyring;
  /** Which encryption keys can be named now. */
  readonly keyNames: KeyNames;
  readonly pages: Pages;
  readonly jobs: Jobs;
  readonly compaction: Compaction;
  /** Whether the queues of dead letters are reached. */
  readonly reachesQueues: boolean;
  /** Whether flows are carried out: buckets are reached, and work runs. */
  readonly readsBuckets: boolean;
  /** The organizations of accounts and the tags of roles. Unset: there are none. */
  readonly accounts?: AccessAccounts | undefined;
  /** The region in the ARNs that policies name. */
  readonly region: string;
}

/** The handler of one operation. */
export type Operation<Name extends keyof (typeof CustomerProfileService)["method"]> = UnaryHandler<
  (typeof CustomerProfileService)["method"][Name],
  Application,
  Access
>;
