/** The guard's decision on a call: it may use the data of this account, and of no other. */
export interface Access {
  readonly accountId: string;
}
