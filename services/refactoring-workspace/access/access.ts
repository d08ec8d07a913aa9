/**
 * The guard's decision on a call: it may use everything in the environment that it names, and creates resources in the
 * name of this account.
 */
export interface Access {
  readonly accountId: string;
}
