/** Every limit of the control plane that a request's own constraints do not hold, each with its unit. */
export const limits = {
  environmentsPerAccountMax: 1_000,
  applicationsPerEnvironmentMax: 500,
  servicesPerApplicationMax: 500,
  routesPerApplicationMax: 1_000,
  tagsPerResourceMax: 50,
  /** Items of a page when the caller asks for no number. */
  pageItemsDefault: 100,
  /** Bytes of records after which a page ends, whatever the number of its items. */
  pageBytesMax: 3 * 1024 * 1024,
  /** How long a page token is good, in milliseconds. */
  pageTokenLifetimeMs: 24 * 60 * 60 * 1000,
  /** How long a client token is remembered, in milliseconds. */
  clientTokenLifetimeMs: 24 * 60 * 60 * 1000,
  /** Time between two looks for client tokens to forget, in milliseconds. */
  clientTokenSweepMs: 10 * 60 * 1000,
  /** Client tokens that one transaction forgets. */
  clientTokenSweepBatch: 500,
  /** How long network resources may stay provisioned without being recorded, in milliseconds. */
  unrecordedFabricMs: 10 * 60 * 1000,
  /** How long a call waits for the health check that it caused, in milliseconds. */
  settleWaitMs: 20_000,
  /** How much of a call's deadline is left for its answer when it stops waiting, in milliseconds. */
  answerReserveMs: 500,
} as const;
