import { constants } from "node:http2";
import type { Http2Session, ServerHttp2Session, ServerHttp2Stream } from "node:http2";

import type { ServerLimits } from "./limits.ts";

/** Ends a connection at once, whether its peer reads or not. */
export type Drop = () => void;

/**
 * Whether a stream has ended before its session says that there is one, as where its reset is in one packet with the
 * preface. Its `close` may have been emitted, and whoever answers it gets an exception.
 */
export const isGone = (stream: ServerHttp2Stream): boolean => stream.closed || stream.destroyed;

/**
 * The open streams of a connection. One whose peer accepts nothing of its answer within the limit is reset: by flow
 * control a peer could hold it forever at no cost. A peer that does not even answer a ping then reads nothing at all,
 * and its connection is dropped.
 */
export const watchStreams = (
  session: ServerHttp2Session,
  stallTimeoutMs: number,
  drop: Drop,
): ReadonlySet<ServerHttp2Stream> => {
  const streams = new Set<ServerHttp2Stream>();
  /** The bytes that each stream waited to send at the last check, and the number of checks since without progress. */
  const waiting = new Map<ServerHttp2Stream, { bytes: number; checks: number }>();
  let awaitsPing = false;
  session.on("stream", (stream) => {
    if (isGone(stream)) return;
    streams.add(stream);
    // A stream that waits with each message waits with the same number of bytes again and again, however fast it is.
    stream.on("drain", () => waiting.delete(stream));
    stream.once("close", () => {
      streams.delete(stream);
      waiting.delete(stream);
    });
  });
  const reset = (stream: ServerHttp2Stream): void => {
    stream.close(constants.NGHTTP2_CANCEL);
    awaitsPing ||= session.ping(() => {
      awaitsPing = false;
    });
  };
  const check = (): void => {
    if (awaitsPing) {
      drop();
      return;
    }
    for (const stream of streams) {
      const bytes = stream.writableLength;
      const before = waiting.get(stream);
      if (bytes === 0) waiting.delete(stream);
      else if (before?.bytes !== bytes) waiting.set(stream, { bytes, checks: 0 });
      else {
        before.checks += 1;
        if (before.checks === checksMax) reset(stream);
      }
    }
  };
  const timer = setInterval(check, Math.ceil(stallTimeoutMs / checksMax));
  timer.unref();
  session.once("close", () => clearInterval(timer));
  return streams;
};

/** How often streams are checked within the time after which one counts as stalled. */
const checksMax = 4;

/** Closes an idle connection; one that then still sends the headers of a request is dropped a little later. */
export const closeIdle = (
  session: ServerHttp2Session,
  streams: ReadonlySet<ServerHttp2Stream>,
  { idleTimeoutMs, lingerMs }: ServerLimits,
  drop: Drop,
): void => {
  session.setTimeout(idleTimeoutMs, () => {
    if (streams.size > 0 || session.closed) return;
    session.close();
    const timer = setTimeout(() => streams.size === 0 && drop(), lingerMs);
    timer.unref();
    session.once("close", () => clearTimeout(timer));
  });
};

const periodMs = 10_000;

/** Drops a peer that floods the server with frames that cost the peer nothing and the server an answer each. */
export const boundControlFrames = (
  session: ServerHttp2Session,
  { pingsMax, settingsMax }: ServerLimits,
  drop: Drop,
): void => {
  const pings = createRateLimit(pingsMax);
  const settings = createRateLimit(settingsMax);
  session.on("ping", () => {
    if (!pings()) drop();
  });
  session.on("remoteSettings", () => {
    if (!settings()) drop();
  });
};

/** Calls back when the platform has dropped a connection for a flood of resets or of frames that break the protocol. */
export const watchFloods = (session: ServerHttp2Session, flooded: () => void): void => {
  session.on("error", ({ code = "" }: NodeJS.ErrnoException) => {
    if (floodCodes.has(code)) flooded();
  });
};

const floodCodes: ReadonlySet<string> = new Set(["ERR_HTTP2_ERROR", "ERR_HTTP2_TOO_MANY_INVALID_FRAMES"]);

/** The streams of each connection that were reset. */
const resets = new WeakMap<Http2Session, number>();

/** Callers that give calls up now and then reset fewer streams of a connection. */
const resetsMin = 32;

/** Counts the streams of a connection that are reset. Calls back for each one that is too many. */
export const watchResets = (session: ServerHttp2Session, resetTooMany: () => void): void => {
  session.on("stream", (stream) => {
    stream.once("close", () => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR) return;
      const count = (resets.get(session) ?? 0) + 1;
      resets.set(session, count);
      if (count > resetsMin) resetTooMany();
    });
  });
};

/**
 * Whether a peer resets so many streams that the next ones are begun only after all that arrived together with them:
 * those that it has reset by then cost nothing more.
 */
export const resetsMuch = (session: Http2Session): boolean => (resets.get(session) ?? 0) >= resetsMin;

/** Returns a counter, which returns false above the limit within a period. */
const createRateLimit = (max: number): (() => boolean) => {
  let startedMs = 0;
  let count = 0;
  return () => {
    const nowMs = performance.now();
    if (nowMs - startedMs > periodMs) {
      startedMs = nowMs;
      count = 0;
    }
    count += 1;
    return count <= max;
  };
};
