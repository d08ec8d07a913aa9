/** Limits of the proxy's port. Times are milliseconds. */
export interface ProxyLimits {
  /** Connections of clients; further ones are closed at once. */
  readonly connectionsMax: number;
  /** Requests and tunnels at the same time; further ones get 503. */
  readonly requestsMax: number;
  /** Requests of one connection at the same time; the connection is not read while more wait. */
  readonly requestsPerConnectionMax: number;
  /** Pipelined requests that wait for earlier ones of their connections, all connections together. */
  readonly requestsWaitingMax: number;
  /** Bytes of a request's header; a longer one gets 431. */
  readonly headerBytesMax: number;
  /** Longest time until a request's header has arrived. There is no limit for its whole body. */
  readonly headerTimeoutMs: number;
  /** How long a client may send nothing of a body that is waited for, and read nothing of an answer. */
  readonly clientStallMs: number;
  /** How long an idle connection stays open. */
  readonly keepAliveMs: number;
  /** Longest wait for the answer to an upgrade. */
  readonly upgradeTimeoutMs: number;
  /** Bytes of bodies for and of functions that are in memory; requests whose bodies need more get 503. */
  readonly functionBytesMax: number;
  /** Calls of functions of one application at the same time; further ones get 503. */
  readonly functionCallsMax: number;
  /** Longest time of one call of a function. */
  readonly functionCallMs: number;
}

export const defaultProxyLimits: ProxyLimits = {
  connectionsMax: 10_000,
  requestsMax: 10_000,
  requestsPerConnectionMax: 8,
  requestsWaitingMax: 10_000,
  headerBytesMax: 64 * 1024,
  headerTimeoutMs: 30_000,
  clientStallMs: 60_000,
  keepAliveMs: 60_000,
  upgradeTimeoutMs: 60_000,
  functionBytesMax: 256 * 1024 * 1024,
  functionCallsMax: 128,
  functionCallMs: 120_000,
};
