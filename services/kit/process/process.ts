import type { Logger } from "../log/log.ts";

/** What a started process serves and how it ends. */
export interface Started {
  /** Where it listens, by purpose: `{ rpc: "http://127.0.0.1:50054" }`. */
  readonly urls: Readonly<Record<string, string>>;
  /** Stops taking work, finishes what runs within its limit, and closes. */
  stop(): Promise<void>;
}

/** What a process that starts can do about its own life. */
export interface Life {
  /** Ends the process with status 1, because it can serve no longer; whoever launched it starts it again. */
  end(reason: Error): void;
}

/** What a started process tells the one that launched it. */
export interface ReadyMessage {
  readonly ready: true;
  readonly urls: Readonly<Record<string, string>>;
}

/**
 * Runs a process until it is told to stop: SIGINT, SIGTERM or the end of its launcher. Tells the launcher when it is
 * ready. A start that fails, and an error that nobody caught, are logged and end the process with status 1.
 */
export const runProcess = async (log: Logger, start: (life: Life) => Promise<Started>): Promise<void> => {
  const die = (error: unknown, why = "ends on an error that nothing handled") => {
    log.fatal({ err: error }, why);
    log.flush();
    process.exitCode = 1;
    // The log's writer may be a thread of its own; one turn of the timer lets it take the line.
    setTimeout(() => process.exit(1), 100);
  };
  process.on("uncaughtException", (error) => die(error));
  process.on("unhandledRejection", (error) => die(error));
  let started: Started;
  try {
    started = await start({ end: (reason) => die(reason, "ends because it can serve no longer") });
  } catch (error) {
    die(error);
    return;
  }
  let stopping = false;
  const stop = (why: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ why }, "draining");
    started.stop().then(
      () => {
        log.info("stopped");
        log.flush();
        if (process.connected) process.disconnect?.();
        setTimeout(() => process.exit(0), 50);
      },
      (error: unknown) => die(error),
    );
  };
  process.on("SIGINT", () => stop("SIGINT"));
  process.on("SIGTERM", () => stop("SIGTERM"));
  process.on("disconnect", () => stop("the launcher ended"));
  log.info(started.urls, "ready");
  process.send?.({ ready: true, urls: started.urls } satisfies ReadyMessage);
};
