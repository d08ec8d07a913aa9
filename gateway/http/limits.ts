/** What the gateway takes before it refuses. */
export interface GatewayLimits {
  /** The largest body that is not streamed to its service. */
  readonly bodyBytesMax: number;
  /** The longest request target. */
  readonly targetLengthMax: number;
  /** The request line and all headers together. */
  readonly headBytesMax: number;
  readonly headersCountMax: number;
  readonly connectionsMax: number;
  /** How long a request's headers may take. */
  readonly headersTimeoutMs: number;
  /** How long a whole body may take that is not streamed. */
  readonly bodyTimeoutMs: number;
  /** How long the next bytes of a streamed body may take, in either direction. */
  readonly stallTimeoutMs: number;
  /** How long an idle connection is kept. */
  readonly idleTimeoutMs: number;
  /** The deadline of a call that neither streams nor has an early status. */
  readonly callTimeoutMs: number;
  /** How long a method with an early status may work before its answer is begun. */
  readonly earlyStatusAfterMs: number;
}

export const defaultGatewayLimits: GatewayLimits = {
  bodyBytesMax: 4 * 1024 * 1024,
  targetLengthMax: 16 * 1024,
  headBytesMax: 32 * 1024,
  headersCountMax: 256,
  connectionsMax: 10_000,
  headersTimeoutMs: 30_000,
  bodyTimeoutMs: 30_000,
  stallTimeoutMs: 60_000,
  idleTimeoutMs: 75_000,
  callTimeoutMs: 60_000,
  earlyStatusAfterMs: 5_000,
};
