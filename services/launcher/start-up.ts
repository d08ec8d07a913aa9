import type { ChildProcess } from "node:child_process";

import type { Clock } from "../kit/clock/clock.ts";
import type { Logger } from "../kit/log/log.ts";
import { asLifeMessage } from "../kit/process/life-message.ts";

/** Where a process listens, by purpose. */
export type Urls = Readonly<Record<string, string>>;

/** How long a start may take. */
export interface StartLimits {
  /** Longest time in milliseconds in which a starting process reports nothing. */
  readonly silentMs: number;
  /** Longest time in milliseconds in all, for one that reports again and again that it is opening its data. */
  readonly openingMs: number;
}

/** A start that is awaited. */
export interface StartOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: StartLimits;
}

export const defaultStartLimits: StartLimits = { silentMs: 30_000, openingMs: 600_000 };

/**
 * Resolves when a process is ready. Rejects if it ends before that, and if it exceeds a limit: then it is killed. A
 * store with a long log on a slow disk may open for minutes; a process that reports nothing hangs.
 */
export const awaitReady = (child: ChildProcess, { name, clock, log, limits }: StartOptions): Promise<Urls> => {
  const { silentMs, openingMs } = limits;
  const startedMs = clock.now();
  let loggedMs = startedMs;
  const { promise, resolve, reject } = Promise.withResolvers<Urls>();
  const giveUp = (why: string) => () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    reject(new Error(`${name} ${why}`));
  };
  const limitSilence = () => clock.schedule(clock.now() + silentMs, giveUp(`reported nothing for ${silentMs} ms`));
  let cancelSilence = limitSilence();
  const cancelOpening = clock.schedule(clock.now() + openingMs, giveUp(`was not ready within ${openingMs} ms`));
  let failure: string | undefined;
  let hasIgnored = false;
  const onMessage = (sent: unknown): void => {
    const message = asLifeMessage(sent);
    if (message === undefined) {
      if (!hasIgnored)
        log.warn({ process: name }, "process sends messages that say nothing of its life; they are ignored");
      hasIgnored = true;
      return;
    }
    cancelSilence();
    if ("failed" in message) failure = message.failed;
    if ("ready" in message) resolve(message.urls);
    else cancelSilence = limitSilence();
    if (clock.now() - loggedMs < silentMs) return;
    loggedMs = clock.now();
    log.info({ process: name, openingMs: loggedMs - startedMs }, "process is still opening its data");
  };
  const onExit = (status: number | null, signal: NodeJS.Signals | null): void => {
    const end = () =>
      reject(
        new Error(
          failure ? `${name}: ${failure}` : `${name} ended before it was ready (${signal ?? `status ${status}`})`,
        ),
      );
    // Its last message may still be on the way.
    if (child.connected) child.once("disconnect", end);
    else end();
  };
  child.on("message", onMessage);
  child.once("exit", onExit);
  child.once("error", reject);
  return promise.finally(() => {
    cancelSilence();
    cancelOpening();
    child.off("message", onMessage);
    child.off("exit", onExit);
    child.off("error", reject);
  });
};
