/** What one server takes before it refuses. */
export interface ServerLimits {
  /** The largest message of a call with one request, decompressed. */
  readonly unaryMessageBytesMax: number;
  /** The largest single message of a stream, decompressed. */
  readonly streamMessageBytesMax: number;
  /** All headers of a request together. Tokens with policies need room. */
  readonly headerBytesMax: number;
  /** Calls at the same time on one HTTP/2 connection. */
  readonly concurrentStreamsMax: number;
  /** Calls at the same time on the whole server; above it calls are refused as throttled. */
  readonly concurrentCallsMax: number;
  /** Connections at the same time; above it new ones are closed. */
  readonly connectionsMax: number;
  /** Bytes that one stream may have on the way before its reader takes them. */
  readonly streamWindowBytes: number;
  /** Bytes that all streams of one HTTP/2 connection may have on the way. */
  readonly connectionWindowBytes: number;
  /** How long a connection may take to say which protocol it speaks and to send a request's headers. */
  readonly headersTimeoutMs: number;
  /** How long an idle connection is kept. */
  readonly idleTimeoutMs: number;
  /** How long the next message of a request may take to arrive whole. Two-way streams may be silent. */
  readonly messageTimeoutMs: number;
  /** How long the network may take nothing of what is to be sent. */
  readonly stallTimeoutMs: number;
  /** Pings of one HTTP/2 connection within ten seconds. Callers that measure the network send thousands. */
  readonly pingsMax: number;
  /** Changes of settings of one HTTP/2 connection within ten seconds. */
  readonly settingsMax: number;
  /** How much of a request that was answered early is still read so that its sender sees the answer. */
  readonly lingerBytesMax: number;
  /** How long a request that was answered early may go on. */
  readonly lingerMs: number;
}

export const defaultLimits: ServerLimits = {
  unaryMessageBytesMax: 4 * 1024 * 1024,
  streamMessageBytesMax: 4 * 1024 * 1024,
  headerBytesMax: 32 * 1024,
  concurrentStreamsMax: 1000,
  concurrentCallsMax: 10_000,
  connectionsMax: 10_000,
  streamWindowBytes: 16 * 1024 * 1024,
  connectionWindowBytes: 16 * 1024 * 1024,
  headersTimeoutMs: 20_000,
  idleTimeoutMs: 75_000,
  messageTimeoutMs: 120_000,
  stallTimeoutMs: 300_000,
  pingsMax: 20_000,
  settingsMax: 100,
  lingerBytesMax: 16 * 1024 * 1024,
  lingerMs: 5000,
};
