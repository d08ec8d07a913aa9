import type { EnvironmentRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";

/**
 * The guard's decision on a call: it may use everything in the environment that it names, and creates resources in the
 * name of this account.
 */
export interface Access {
  readonly accountId: string;
  /** Whether listings show the environment: one of the account, or one that is shared with the caller. */
  readonly mayList: (environment: EnvironmentRecord, policy: string | undefined) => boolean;
}
