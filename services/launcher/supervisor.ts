import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";

import type { Clock } from "../kit/clock/clock.ts";
import { systemClock } from "../kit/clock/clock.ts";
import type { Logger } from "../kit/log/log.ts";
import { asLifeMessage } from "../kit/process/life-message.ts";
import type { LivenessLimits } from "./liveness.ts";
import { defaultLivenessLimits, watchLiveness } from "./liveness.ts";
import { platformEnvironment } from "./platform-environment.ts";
import type { StartLimits, Urls } from "./start-up.ts";
import { awaitReady, defaultStartLimits } from "./start-up.ts";

export interface SupervisionLimits extends StartLimits, LivenessLimits {
  /** The longest wait in milliseconds before a process that ended is started again; it doubles from 200. */
  readonly restartDelayMsMax: number;
}

/** One process that is kept running. */
export interface SupervisedOptions {
  readonly name: string;
  /** Path of the script. */
  readonly script: string;
  /** Flags of Node, for a process that is started on its own. Unset: none. */
  readonly nodeFlags?: readonly string[];
  /** Arguments of a start; `urls` are those of the last start that became ready, so that ports stay. */
  readonly argv: (urls: Urls | undefined) => readonly string[];
  /** Its environment, as of a start. */
  readonly env: () => NodeJS.ProcessEnv;
  /** Starts it, with a channel for messages. Unset: on its own, with ports of its own. */
  readonly spawn?: (script: string, argv: readonly string[], env: NodeJS.ProcessEnv) => ChildProcess;
  readonly log: Logger;
  /** Resolves when the process that is ready at these addresses answers. Unset: it is not asked. */
  readonly probe?: (urls: Urls, limitMs: number) => Promise<void>;
  /** What is left out has its default. */
  readonly limits?: Partial<SupervisionLimits>;
  /** Measures how long a process ran, and its limits. Unset: the machine's clock. */
  readonly clock?: Clock;
}

/** A process that is started again when it ends by itself, or is killed because it hangs. */
export interface Supervised {
  readonly name: string;
  /** Where it listens since it last became ready. */
  readonly urls: Urls;
  /** The process id, or undefined while the process is not running. */
  readonly pid: number | undefined;
  /** Lets the process drain and end; kills it after the limit, in milliseconds. */
  stop(limitMs: number): Promise<void>;
}

const restartDelayMsMin = 200;
const defaultRestartLimits = { restartDelayMsMax: 10_000 };
/** After a longer run the waits begin at the shortest again. */
const steadyMs = 30_000;

const spawnAlone =
  (nodeFlags: readonly string[]) =>
  (script: string, argv: readonly string[], env: NodeJS.ProcessEnv): ChildProcess =>
    spawn(process.execPath, [...nodeFlags, script, ...argv], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      env,
      // A group of its own, so that Ctrl-C reaches only the launcher, which stops its processes in order.
      detached: true,
    });

/** Starts a process and resolves when it is ready; rejects if it ends before that or exceeds a limit of the start. */
export const supervise = async (options: SupervisedOptions): Promise<Supervised> => {
  const { name, log, probe, clock = systemClock, nodeFlags = [] } = options;
  const run = options.spawn ?? spawnAlone(nodeFlags);
  const limits = { ...defaultStartLimits, ...defaultLivenessLimits, ...defaultRestartLimits, ...options.limits };
  const stopped = new AbortController();
  let child: ChildProcess;
  let urls: Urls;
  /** Short runs in a row, the latest included. */
  let failures = 0;
  /** Starts in a row that did not become ready. */
  let failedStarts = 0;
  /** Ends the probing of the latest child. */
  let endProbing = (): void => undefined;

  const start = async (): Promise<void> => {
    const started = run(options.script, options.argv(urls), { ...platformEnvironment, ...options.env() });
    child = started;
    // Without a listener an error of a process would end this one.
    started.on("error", (error) => log.warn({ process: name, err: error }, "process cannot be started or signalled"));
    // Where the machine is too busy for a start, killing each one would never end: the next one has twice as long.
    const silentMs = Math.min(limits.openingMs, limits.silentMs * 2 ** failedStarts);
    failedStarts += 1;
    const listening = await awaitReady(started, { name, clock, log, limits: { ...limits, silentMs } });
    failedStarts = 0;
    urls = listening;
    if (probe === undefined || stopped.signal.aborted) return;
    endProbing = watchLiveness({
      name,
      probe: (limitMs) => probe(listening, limitMs),
      clock,
      log,
      limits,
      onHanging: (reason) => {
        log.error({ process: name, pid: started.pid, err: reason }, "process does not answer; it is killed");
        started.kill("SIGKILL");
      },
    });
    started.once("exit", endProbing);
    // A process that drains takes no more questions, and ends by itself.
    started.on("message", (sent) => {
      const message = asLifeMessage(sent);
      if (message !== undefined && "draining" in message) endProbing();
    });
  };

  const keepRunning = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const startedMs = clock.now();
      await ended(child);
      if (stopped.signal.aborted) return;
      failures = clock.now() - startedMs > steadyMs ? 1 : failures + 1;
      const waitMs = Math.min(limits.restartDelayMsMax, restartDelayMsMin * 2 ** (failures - 1));
      log.warn(
        { process: name, exitCode: child.exitCode, signal: child.signalCode, waitMs },
        "process ended; starts again",
      );
      await delay(waitMs, undefined, { signal: stopped.signal }).catch(() => undefined);
      if (stopped.signal.aborted) return;
      await start().catch((error: unknown) => log.error({ process: name, err: error }, "start failed"));
    }
  };

  await start();
  const kept = keepRunning();
  return {
    name,
    get urls() {
      return urls;
    },
    get pid() {
      return isRunning(child) ? child.pid : undefined;
    },
    stop: async (limitMs) => {
      stopped.abort();
      endProbing();
      await end(child, limitMs);
      await kept;
    },
  };
};

const isRunning = ({ pid, exitCode, signalCode }: ChildProcess): boolean =>
  pid !== undefined && exitCode === null && signalCode === null;

const ended = async (child: ChildProcess): Promise<void> => {
  if (isRunning(child)) await new Promise((resolve) => child.once("exit", resolve));
};

const end = async (child: ChildProcess, limitMs: number): Promise<void> => {
  if (!isRunning(child)) return;
  const exited = ended(child);
  child.kill("SIGTERM");
  const forced = setTimeout(() => child.kill("SIGKILL"), limitMs);
  await exited;
  clearTimeout(forced);
};
