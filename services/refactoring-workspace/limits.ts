/** Every limit of the control plane that is not a constraint of a request's member, each with its unit. */
export const limits = {
  /** Environments of one account. */
  environmentsPerAccountMax: 1_000,
  /** Applications of one environment. */
  applicationsPerEnvironmentMax: 500,
  /** Services of one application. */
  servicesPerApplicationMax: 500,
  /** Routes of one application. */
  routesPerApplicationMax: 1_000,
  /** Tags of one resource. */
  tagsPerResourceMax: 50,
  /** Items of a page if the request has no number. */
  pageItemsDefault: 100,
  /** Bytes of records after which a page ends, whatever the number of its items. */
  pageBytesMax: 3 * 1024 * 1024,
  /** How long a page token is valid, in milliseconds. */
  pageTokenLifetimeMs: 24 * 60 * 60 * 1000,
  /** How long the answer to a client token is stored, in milliseconds. */
  clientTokenLifetimeMs: 24 * 60 * 60 * 1000,
  /** Time between two sweeps of expired client tokens, in milliseconds. */
  clientTokenSweepMs: 10 * 60 * 1000,
  /** Client tokens that one transaction deletes. */
  clientTokenSweepBatch: 500,
  /** How long network resources may stay provisioned without being recorded, in milliseconds. */
  unrecordedFabricMs: 10 * 60 * 1000,
  /** Health checks of routes' services that run at the same time, and of them those of one account. */
  runningChecksMax: 64,
  runningChecksPerAccountMax: 16,
  /** The same of releases of network resources. */
  runningReleasesMax: 32,
  runningReleasesPerAccountMax: 8,
  /** The same of removals of statements from policies of functions. */
  runningPermissionsMax: 32,
  runningPermissionsPerAccountMax: 8,
  /** How long a call waits for the health check that it caused, in milliseconds. */
  settleWaitMs: 20_000,
  /** How much of a call's deadline is left for its answer when it stops waiting, in milliseconds. */
  answerReserveMs: 500,
} as const;
