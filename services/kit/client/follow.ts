import type { Clock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import { runPeriodically } from "../periodic/periodic.ts";

export interface FollowOptions<Message> {
  readonly clock: Clock;
  readonly log: Logger;
  /** What the stream shows, for the log: "identities". */
  readonly what: string;
  /** Begins a stream of everything there is and then of each change, with at least one message a second. */
  open(signal: AbortSignal): Promise<AsyncIterable<Message>>;
  /** Receives the messages of one stream. Returns false until all that there was at the beginning has been received. */
  receiver(): (message: Message) => boolean;
}

/** A stream that is followed. */
export interface Following {
  /** False until everything was received once, and after 30 seconds in which nothing was heard. */
  isCurrent(): boolean;
  /** Waits until everything was received once, but no longer than this time in milliseconds. */
  awaitFirst(limitMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** Within this time of silence what was sent last still counts. */
const silentMsMax = 30_000;
const retryMs = 1_000;

/**
 * Follows a stream: a second after it has ended or failed it is begun again, and so is one that is silent for 30
 * seconds. That it cannot be followed for so long is logged once, and so is its return.
 */
export const follow = <Message>(options: FollowOptions<Message>): Following => {
  const { clock, log, what } = options;
  let isHeard = false;
  /** Whether nothing was heard for 30 seconds, whatever the clock was set to meanwhile. */
  let isSilent = false;
  let cancelSilence = (): void => {};
  let isReported = false;
  const first = Promise.withResolvers<void>();

  const limitSilence = (): void => {
    cancelSilence();
    isSilent = false;
    cancelSilence = clock.schedule(clock.now() + silentMsMax, () => {
      isSilent = true;
    });
  };
  const heard = (): void => {
    isHeard = true;
    limitSilence();
    first.resolve();
    if (isReported) log.info({ what }, "followed again");
    isReported = false;
  };
  const failed = (error: unknown): void => {
    if (isReported || !isSilent) return;
    isReported = true;
    log.error({ err: error, what }, "cannot be followed; what was received before no longer counts");
  };
  const followOnce = async (ending: AbortSignal): Promise<void> => {
    const silence = new AbortController();
    const signal = AbortSignal.any([ending, silence.signal]);
    const expectMessage = () => clock.schedule(clock.now() + silentMsMax, () => silence.abort());
    let cancel = expectMessage();
    const receive = options.receiver();
    try {
      for await (const message of await options.open(signal)) {
        cancel();
        cancel = expectMessage();
        if (receive(message)) heard();
      }
      failed(new Error("the stream ended"));
    } catch (error) {
      if (!ending.aborted) failed(error);
    } finally {
      cancel();
    }
  };
  limitSilence();
  const stop = runPeriodically({ clock, log, intervalMs: retryMs, tasks: { follow: followOnce } });
  return {
    isCurrent: () => isHeard && !isSilent,
    awaitFirst: async (limitMs) => {
      const late = Promise.withResolvers<void>();
      const cancel = clock.schedule(clock.now() + limitMs, () => late.resolve());
      await Promise.race([first.promise, late.promise]);
      cancel();
    },
    stop: async () => {
      await stop();
      cancelSilence();
    },
  };
};
