import { collector } from "../process/collector.ts";

/** After so many bytes their buffers are collected: in half a millisecond, if few other objects are new. */
const collectAfterBytes = 8 * 1024 * 1024;

let uncollected = 0;

/**
 * Counts the bytes of a frame that is sent or received, and collects their buffers now and then. A buffer is a small
 * object with many bytes, so V8 collects new objects too seldom to keep up with the bytes of bodies; it marks its whole
 * heap instead, for each 64 MiB (services/decisions/0082).
 */
export const countPassingBytes = (bytes: number): void => {
  uncollected += bytes;
  if (uncollected < collectAfterBytes) return;
  uncollected = 0;
  collector()({ type: "minor", execution: "sync" });
};
