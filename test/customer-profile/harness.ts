import type { Client } from "@connectrpc/connect";

import { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ErrorReasonSchema } from "../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import type { Application } from "../../services/customer-profile/application.ts";
import { openCustomerProfile } from "../../services/customer-profile/open.ts";
import { handlers } from "../../services/customer-profile/service.ts";
import type { BucketSource } from "../../services/customer-profile/sources/bucket-source.ts";
import type { KeyNames } from "../../services/kit/keyring/key-names.ts";
import type { Logger } from "../../services/kit/log/log.ts";
import type { ServiceEndpoint } from "../../services/kit/outgoing/service-client.ts";
import type { OperatorPages } from "../../services/kit/server/operator-pages.ts";
import type { Store } from "../../services/kit/store/store.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { ownerAccount, startServiceHarness } from "../support/service-harness.ts";

export { refusalOf } from "../support/refusal.ts";
export { ownerAccount } from "../support/service-harness.ts";

export type ProfileClient = Client<typeof CustomerProfileService>;

/** The service over a real store and a real socket, with a clock that stands still. */
export interface Harness {
  readonly directory: string;
  /** Where it answers RPCs. */
  readonly url: string;
  readonly clock: FakeClock;
  readonly app: Application;
  readonly store: Store;
  readonly pages: OperatorPages;
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
  /** Unset: queues are not reached. */
  readonly queueEndpoint?: ServiceEndpoint;
  /** Unset: buckets are not reached. */
  readonly buckets?: BucketSource;
  /** Unset: never. */
  readonly isDiskLow?: () => boolean;
  /** Unset: nothing is logged. */
  readonly log?: Logger;
}

/** Starts the service; it is stopped when the test ends. */
export const startHarness = async (options: HarnessOptions = {}): Promise<Harness> => {
  const { directory, clock = new FakeClock(), works = true, keyNames, queueEndpoint, buckets, isDiskLow } = options;
  const harness = await startServiceHarness({
    service: CustomerProfileService,
    handlers,
    errors: ErrorReasonSchema,
    clock,
    directory,
    log: options.log,
    open: (parts) =>
      openCustomerProfile({
        ...parts,
        works,
        queueEndpoint,
        buckets,
        ...(keyNames && { keyNames }),
        ...(isDiskLow && { isDiskLow }),
      }),
  });
  return {
    ...harness,
    clock,
    app: harness.opened.app,
    pages: harness.opened.pages,
    client: harness.clientOf(ownerAccount),
  };
};
