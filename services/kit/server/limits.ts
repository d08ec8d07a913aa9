/** The limits of one server. */
export interface ServerLimits {
  /** The largest message of a call with one request, decompressed. */
  readonly unaryMessageBytesMax: number;
  /** The largest single message of a stream, decompressed. */
  readonly streamMessageBytesMax: number;
  /** The largest message of a call without a token: so many may be under way at once. */
  readonly openMessageBytesMax: number;
  /** All headers of a request together. Tokens with policies are large. */
  readonly headerBytesMax: number;
  /** Calls at the same time on one HTTP/2 connection. */
  readonly concurrentStreamsMax: number;
  /** Calls at the same time on one HTTP/1.1 connection that pipelines; further ones wait. */
  readonly pipelinedCallsMax: number;
  /** Pipelined requests that wait for earlier ones of their connections, all connections together. */
  readonly pipelinedWaitingMax: number;
  /** Calls with a token at the same time on the whole server; further calls are refused as throttled. */
  readonly concurrentCallsMax: number;
  /**
   * The same of calls without one, which would otherwise take the places of the others: anybody may hold them open. Of
   * calls with one request, and of pages over HTTP/2, the oldest make room for the next instead.
   */
  readonly openCallsMax: number;
  /**
   * Connections at the same time. Above it idle ones are closed, or new ones if none is idle. Fewer if the process may
   * not have so many files open. Connections over a unix socket are not counted.
   */
  readonly connectionsMax: number;
  /** Bytes of one stream in transit before its reader has accepted them. */
  readonly streamWindowBytes: number;
  /** Bytes of all streams of one HTTP/2 connection in transit. */
  readonly connectionWindowBytes: number;
  /** How long a connection may take to open its protocol and to send a request's headers. */
  readonly headersTimeoutMs: number;
  /** How long an idle connection is kept. */
  readonly idleTimeoutMs: number;
  /** How long the next message of a request may take to arrive whole. Two-way streams may be silent. */
  readonly messageTimeoutMs: number;
  /** How long a peer may accept nothing of its answer; over HTTP/2, of one message of it. */
  readonly stallTimeoutMs: number;
  /** Pings of one HTTP/2 connection within ten seconds. Callers that measure their bandwidth send thousands. */
  readonly pingsMax: number;
  /** Changes of settings of one HTTP/2 connection within ten seconds. */
  readonly settingsMax: number;
  /** Connections of one address that may be dropped for floods in a minute; then it is shut out for as long. */
  readonly floodsPerMinuteMax: number;
  /** Bytes of an early answered request that are still read, so that its sender receives the answer. */
  readonly lingerBytesMax: number;
  /** How long an early answered request may continue. */
  readonly lingerMs: number;
}

export const defaultServerLimits: ServerLimits = {
  unaryMessageBytesMax: 4 * 1024 * 1024,
  streamMessageBytesMax: 4 * 1024 * 1024,
  openMessageBytesMax: 4 * 1024,
  headerBytesMax: 32 * 1024,
  concurrentStreamsMax: 1000,
  pipelinedCallsMax: 8,
  pipelinedWaitingMax: 10_000,
  concurrentCallsMax: 10_000,
  openCallsMax: 1_000,
  connectionsMax: 10_000,
  streamWindowBytes: 16 * 1024 * 1024,
  connectionWindowBytes: 16 * 1024 * 1024,
  headersTimeoutMs: 20_000,
  idleTimeoutMs: 75_000,
  messageTimeoutMs: 120_000,
  stallTimeoutMs: 300_000,
  pingsMax: 20_000,
  settingsMax: 100,
  floodsPerMinuteMax: 5,
  lingerBytesMax: 16 * 1024 * 1024,
  lingerMs: 5000,
};

/**
 * Connections that wait to be accepted; the system may allow fewer (`net.core.somaxconn`). When more arrive while the
 * process is busy, the system may report a connection to its caller that the process never gets and so never closes.
 */
export const waitingConnectionsMax = 4096;
