/** What the service allows. The ones that an installation may change are settings of the same names. */
export interface Limits {
  /** Buses of an account. */
  readonly busesMax: number;
  readonly rulesPerBusMax: number;
  readonly targetsPerRuleMax: number;
  /** Connections of an account. */
  readonly connectionsMax: number;
  /** API destinations of an account. */
  readonly apiDestinationsMax: number;
  /** Replays of an account that have not ended. */
  readonly activeReplaysMax: number;
  /** Requests a second to an API destination that names no limit. */
  readonly rateLimitDefault: number;
  /** Items of a page that asks for no number, and the most of any. */
  readonly pageItemsMax: number;
  /** Milliseconds that a page token is good for. */
  readonly pageTokenLifetimeMs: number;
  /** Milliseconds that the log keeps an event which nothing else holds. */
  readonly eventLogMs: number;
  /** Milliseconds that a dead letter is kept. */
  readonly deadLetterMs: number;
  /** Buses that one event may pass through. */
  readonly hopsMax: number;
  /**
   * Bytes that all deliveries of one event may take: each has a copy of its target. The most that a transaction writes
   * is twice as much, which the store must take at once.
   */
  readonly deliveriesBytesMax: number;
  /** Milliseconds that one request to an API destination may take. */
  readonly requestMsMax: number;
}

export const defaultLimits: Limits = {
  busesMax: 100,
  rulesPerBusMax: 300,
  targetsPerRuleMax: 5,
  connectionsMax: 3_000,
  apiDestinationsMax: 3_000,
  activeReplaysMax: 10,
  rateLimitDefault: 300,
  pageItemsMax: 100,
  pageTokenLifetimeMs: 24 * 3_600_000,
  eventLogMs: 600_000,
  deadLetterMs: 14 * 24 * 3_600_000,
  hopsMax: 8,
  deliveriesBytesMax: 24 * 1024 * 1024,
  requestMsMax: 5_000,
};
