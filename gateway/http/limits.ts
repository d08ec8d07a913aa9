/** The limits of the gateway; what exceeds one is refused. */
export interface GatewayLimits {
  /** The largest body that is not streamed to its service. */
  readonly bodyBytesMax: number;
  /** The same of a caller who did not sign, of whom everybody may be one. */
  readonly unsignedBodyBytesMax: number;
  /** All bodies together that are not streamed to their services; further bytes are refused as busy. */
  readonly bodiesBytesMax: number;
  /** The longest request target. */
  readonly targetLengthMax: number;
  /** The request line and all headers together. */
  readonly headBytesMax: number;
  readonly headersCountMax: number;
  readonly connectionsMax: number;
  /** The requests of one connection that are served at the same time; further ones wait. */
  readonly requestsPerConnectionMax: number;
  /** The requests that are served at the same time; further ones are refused as busy. */
  readonly requestsMax: number;
  /** The pipelined requests that wait for earlier ones of their connections, all connections together. */
  readonly requestsWaitingMax: number;
  /** The longest time until the headers of a request have arrived. */
  readonly headersTimeoutMs: number;
  /** The longest time until a body that is not streamed has arrived. */
  readonly bodyTimeoutMs: number;
  /** The longest time between two pieces of a streamed body, in either direction, from client and service alike. */
  readonly stallTimeoutMs: number;
  /** The time after which an idle connection is closed. */
  readonly idleTimeoutMs: number;
  /** The longest time until a service begins its answer. A method with an early status has no limit. */
  readonly answerTimeoutMs: number;
  /** The same for a streamed upload, from its last byte on: large bodies are made durable then. */
  readonly uploadAnswerTimeoutMs: number;
  /** The time after which a method with an early status has its answer begun. */
  readonly earlyStatusAfterMs: number;
}

/** The limits of one of several gateways that together hold no more than one alone would. */
export const sharedGatewayLimits = (limits: GatewayLimits, gateways: number): GatewayLimits => ({
  ...limits,
  bodiesBytesMax: Math.ceil(limits.bodiesBytesMax / gateways),
  connectionsMax: Math.ceil(limits.connectionsMax / gateways),
  requestsMax: Math.ceil(limits.requestsMax / gateways),
  requestsWaitingMax: Math.ceil(limits.requestsWaitingMax / gateways),
});

export const defaultGatewayLimits: GatewayLimits = {
  bodyBytesMax: 4 * 1024 * 1024,
  unsignedBodyBytesMax: 2 * 1024 * 1024,
  bodiesBytesMax: 256 * 1024 * 1024,
  targetLengthMax: 16 * 1024,
  headBytesMax: 32 * 1024,
  headersCountMax: 256,
  connectionsMax: 10_000,
  requestsPerConnectionMax: 8,
  requestsMax: 2_000,
  requestsWaitingMax: 10_000,
  headersTimeoutMs: 30_000,
  bodyTimeoutMs: 30_000,
  stallTimeoutMs: 60_000,
  idleTimeoutMs: 75_000,
  answerTimeoutMs: 10_000,
  uploadAnswerTimeoutMs: 60_000,
  earlyStatusAfterMs: 5_000,
};
