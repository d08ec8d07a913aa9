import type { Logger } from "../log/log.ts";
import type { LifeMessage } from "./life-message.ts";
import { giveMemoryBackAtRest } from "./rest.ts";
import { startFailure } from "./start-failure.ts";

/** A started process. */
interface Started {
  /** Its URLs, by purpose: `{ rpc: "http://127.0.0.1:50054" }`. */
  readonly urls: Readonly<Record<string, string>>;
  /** Writes what it gathers in memory; called when the process comes to rest. Unset: it gathers nothing. */
  flush?(): Promise<void>;
  /** Accepts no more work, finishes what runs within its limit, and closes. */
  stop(): Promise<void>;
}

/** Lets a process end itself. */
export interface ProcessControl {
  /** Ends the process with status 1, because it can serve no longer; its launcher starts it again. */
  end(reason: Error): void;
}

/** How long an ending process waits until its last log lines are written. */
const lastLinesMs = 500;

/**
 * Runs a process until it receives SIGINT or SIGTERM, or its launcher ends. Sends the launcher a message when it is
 * ready. A start that fails, and an error that nothing caught, are logged and end the process with status 1. Files
 * that it creates are readable and writable only by their owner.
 */
export const runProcess = async (log: Logger, start: (control: ProcessControl) => Promise<Started>): Promise<void> => {
  process.umask(0o077);
  let isEnding = false;
  const exit = (status: number, logLast: () => void) => {
    if (isEnding) return;
    isEnding = true;
    // Armed before the last line, so that a log that cannot be written does not keep the process.
    setTimeout(() => process.exit(status), lastLinesMs);
    process.exitCode = status;
    logLast();
    log.flush(() => process.exit(status));
  };
  const die = (error: unknown, why = "ends on an error that nothing handled") =>
    exit(1, () => log.fatal({ err: error }, why));
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
    const problem = startFailure(error);
    if (problem === undefined) die(error, "cannot start");
    else {
      report({ failed: problem });
      exit(1, () => log.fatal(`cannot start: ${problem}`));
    }
    return;
  } finally {
    clearInterval(opening);
  }
  let isStopping = false;
  const stop = (why: string) => {
    if (isStopping) return;
    isStopping = true;
    log.info({ why }, "draining");
    report({ draining: true });
    started.stop().then(
      () => {
        if (process.connected) process.disconnect?.();
        exit(0, () => log.info("stopped"));
      },
      (error: unknown) => die(error),
    );
  };
  process.on("SIGINT", () => stop("SIGINT"));
  process.on("SIGTERM", () => stop("SIGTERM"));
  process.off("disconnect", orphaned);
  process.on("disconnect", () => stop("the launcher ended"));
  giveMemoryBackAtRest(log, started.flush);
  log.info(started.urls, "ready");
  report({ ready: true, urls: started.urls });
};

const openingReportMs = 1_000;

/** Without a launcher, and when it has ended, nobody is told. */
const report = (message: LifeMessage): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
};
