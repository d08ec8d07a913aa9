import type { SenderLimits } from "../kit/outgoing/http-sender.ts";
import { defaultSenderLimits } from "../kit/outgoing/http-sender.ts";

/** The limits of the service. Those that an installation may change are settings of the same names. */
export interface Limits extends SenderLimits {
  /** Buses of an account. */
  readonly busesMax: number;
  readonly rulesPerBusMax: number;
  /** Discovered schemas of a bus; of further sources and detail types none is discovered. */
  readonly schemasPerBusMax: number;
  readonly targetsPerRuleMax: number;
  /** Connections of an account. */
  readonly connectionsMax: number;
  /** API destinations of an account. */
  readonly apiDestinationsMax: number;
  /** Global endpoints of an account. */
  readonly endpointsMax: number;
  /** Milliseconds between two requests of a health check. */
  readonly healthCheckMs: number;
  /** Replays of an account that have not ended. */
  readonly activeReplaysMax: number;
  /** Redrives of many dead letters of an account that have not ended. */
  readonly activeRedrivesMax: number;
  /** Requests per second to an API destination that names no limit. */
  readonly rateLimitDefault: number;
  /** Items of a page if the request asks for no number. */
  readonly pageItemsDefault: number;
  /** Bytes at which a page of dead letters ends, whatever the number of its items; it has at least one. */
  readonly pageBytesMax: number;
  /** Milliseconds for which a page token is valid. */
  readonly pageTokenLifetimeMs: number;
  /** Milliseconds for which the log keeps an event that nothing holds. */
  readonly eventLogMs: number;
  /** Milliseconds for which a dead letter is kept, and a redrive after its end. */
  readonly deadLetterMs: number;
  /** Buses through which one event may pass. */
  readonly hopsMax: number;
  /**
   * Bytes of all deliveries of one event together; each has a copy of its target. A transaction writes at most twice as
   * much, which the store must accept at once.
   */
  readonly deliveriesBytesMax: number;
  /** Messages for one broker that wait for its acknowledgement at the same time. */
  readonly brokerMessagesMax: number;
  /** Deliveries that run at the same time; a half of them are kept for destinations that answer. */
  readonly runningDeliveriesMax: number;
  /** Deliveries to one target that run at the same time. */
  readonly runningDeliveriesPerTargetMax: number;
  /** Schedules, replays and purges that run at the same time, and so many token requests of connections. */
  readonly runningJobsMax: number;
  /** Milliseconds between two looks whether delivery streams have records to write. */
  readonly streamCheckMs: number;
  /** Milliseconds between two sweeps of the log, the archives and the dead letters. */
  readonly sweepIntervalMs: number;
}

/** The documented limits, and this service's own where none is documented. */
export const defaultLimits: Limits = {
  ...defaultSenderLimits,
  busesMax: 100,
  rulesPerBusMax: 300,
  schemasPerBusMax: 200,
  targetsPerRuleMax: 5,
  connectionsMax: 3_000,
  apiDestinationsMax: 3_000,
  endpointsMax: 100,
  healthCheckMs: 1_000,
  activeReplaysMax: 10,
  activeRedrivesMax: 10,
  rateLimitDefault: 300,
  pageItemsDefault: 100,
  pageBytesMax: 3 * 1024 * 1024,
  pageTokenLifetimeMs: 24 * 3_600_000,
  eventLogMs: 600_000,
  deadLetterMs: 14 * 24 * 3_600_000,
  hopsMax: 8,
  deliveriesBytesMax: 24 * 1024 * 1024,
  brokerMessagesMax: 256,
  runningDeliveriesMax: 4_096,
  runningDeliveriesPerTargetMax: 32,
  runningJobsMax: 64,
  streamCheckMs: 1_000,
  sweepIntervalMs: 60_000,
};
