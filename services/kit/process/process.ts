import type { Logger } from "../log/log.ts";

/** A started process. */
interface Started {
  /** Its URLs, by purpose: `{ rpc: "http://127.0.0.1:50054" }`. */
  readonly urls: Readonly<Record<string, string>>;
  /** Accepts no more work, finishes what runs within its limit, and closes. */
  stop(): Promise<void>;
}

/** Lets a process end itself. */
interface Life {
  /** Ends the process with status 1, because it can serve no longer; its launcher starts it again. */
  end(reason: Error): void;
}

/** A process is ready, and listens at these addresses by purpose. */
export interface ReadyMessage {
  readonly ready: true;
  readonly urls: Readonly<Record<string, string>>;
}

/**
 * The messages of a process to its launcher: once a second that it is opening its data, then once that it is ready, and
 * once that it drains.
 */
export type LifeMessage = { readonly opening: true } | ReadyMessage | { readonly draining: true };

/**
 * Runs a process until SIGINT, SIGTERM or the end of its launcher, which it sends messages about its state. A start that
 * fails and an uncaught error are logged and end the process with status 1.
 */
export const runProcess = async (log: Logger, start: (life: Life) => Promise<Started>): Promise<void> => {
  const die = (error: unknown, why = "ends on an error that nothing handled") => {
    log.fatal({ err: error }, why);
    log.flush();
    process.exitCode = 1;
    // The log may be written by another thread, which gets this time for the last lines.
    setTimeout(() => process.exit(1), 100);
  };
  process.on("uncaughtException", (error) => die(error));
  process.on("unhandledRejection", (error) => die(error));
  // What is half open is as after a crash, which it survives.
  const orphaned = (): never => process.exit(1);
  process.on("disconnect", orphaned);
  report({ opening: true });
  const opening = setInterval(() => report({ opening: true }), openingReportMs);
  let started: Started;
  try {
    started = await start({ end: (reason) => die(reason, "ends because it can serve no longer") });
  } catch (error) {
    die(error);
    return;
  } finally {
    clearInterval(opening);
  }
  let stopping = false;
  const stop = (why: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ why }, "draining");
    report({ draining: true });
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
  process.off("disconnect", orphaned);
  process.on("disconnect", () => stop("the launcher ended"));
  log.info(started.urls, "ready");
  report({ ready: true, urls: started.urls });
};

const openingReportMs = 1_000;

/** Without a launcher, and when it has ended, nobody is told. */
const report = (message: LifeMessage): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
};
