import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";

import { isServing } from "../../services/launcher/health-probe.ts";
import type { ProcessName } from "../../services/launcher/processes.ts";
import { processNames } from "../../services/launcher/processes.ts";
import type { SeededRandom } from "../kit/store/seeded-random.ts";
import { seededRandom } from "../kit/store/seeded-random.ts";
import { eventually } from "../support/eventually.ts";
import type { HttpReceiver } from "../support/http-receiver.ts";
import { startHttpReceiver } from "../support/http-receiver.ts";
import type { System } from "../support/system.ts";
import { startSystem } from "../support/system.ts";
import type { Writable } from "./mixed-writes.ts";
import { prepareWritables } from "./mixed-writes.ts";

export interface KillRounds {
  readonly seed: number;
  /** They end after so many rounds, or so many seconds. */
  readonly rounds: number;
  readonly seconds: number;
  /** How many of a hundred rounds kill; the others stop the process for a moment, which costs no start. */
  readonly killPercent: number;
}

export interface KillTally {
  readonly counts: Record<"rounds" | "kills" | "stops" | "answered" | "unanswered" | "read", number>;
  /** Rounds by fault and process. */
  readonly faults: Record<string, number>;
  readonly findings: string[];
}

/** The generations of a thing: the last one that was answered, and the last one that was sent. */
interface Progress {
  readonly writable: Writable;
  answered: number;
  sent: number;
}

const writersOfLane = 3;
const pauseMsMax = 120;
/** Of each kind of thing, for each process and as many for the gateway, which stores none itself. */
const thingsOfKind = 4;
const gatewayShare = 1;

/**
 * Rounds on one installation in the directory, of all five processes at the same time. In each round of a process,
 * writers change things that it stores, it is killed or stopped at some moment, and when it serves again all that was
 * answered must be there, and nothing in part. Rounds end with the first finding.
 */
export const runKillRounds = async (directory: string, options: KillRounds): Promise<KillTally> => {
  const system = await startSystem(directory, "silent", { limits: { restartDelayMsMax: 200 } });
  const endpoint = await startHttpReceiver();
  try {
    return await runLanes(system, endpoint, options);
  } finally {
    await endpoint.close();
    await system.stop();
  }
};

const runLanes = async (system: System, endpoint: HttpReceiver, options: KillRounds): Promise<KillTally> => {
  const { seed, rounds, seconds, killPercent } = options;
  const tally: KillTally = {
    counts: { rounds: 0, kills: 0, stops: 0, answered: 0, unanswered: 0, read: 0 },
    faults: {},
    findings: [],
  };
  const endMs = Date.now() + seconds * 1_000;
  const isOver = (): boolean => tally.counts.rounds >= rounds || Date.now() > endMs || tally.findings.length > 0;
  const byOwner = Map.groupBy(await prepareWritables(system, endpoint, thingsOfKind), ({ owner }) => owner);
  const ofGateway = [...byOwner.values()].flatMap((writables) => writables.splice(0, gatewayShare));
  const runLane = async (name: ProcessName, index: number): Promise<void> => {
    const writables = name === "gateway" ? ofGateway : (byOwner.get(name) ?? []);
    const all = writables.map((writable) => ({ writable, answered: 1, sent: 1 }));
    const random = seededRandom(seed + index);
    try {
      while (!isOver()) await runRound(system, name, all, random, random.chance(killPercent / 100), tally);
    } catch (error) {
      tally.findings.push(`${name}: ${inspect(error)}`);
    }
  };
  await Promise.all(processNames.map(runLane));
  return tally;
};

/** Writers at work, one fault in the middle of it, and a look at everything that they wrote. */
const runRound = async (
  system: System,
  name: ProcessName,
  all: readonly Progress[],
  random: SeededRandom,
  isKill: boolean,
  tally: KillTally,
): Promise<void> => {
  const { counts } = tally;
  let isOver = false;
  let answered = 0;
  const writing = Array.from({ length: writersOfLane }, (_, writer) =>
    write(
      all.filter((_each, at) => at % writersOfLane === writer),
      () => isOver,
      (isAnswered) => {
        if (isAnswered) answered += 1;
        counts[isAnswered ? "answered" : "unanswered"] += 1;
      },
    ),
  );
  try {
    const wanted = 1 + random.below(12);
    await eventually(() => answered >= wanted, `the writers of ${name} are at work`);
    const pid = system.installation.pid(name);
    if (pid === undefined) throw new Error(`${name} is not running`);
    process.kill(pid, isKill ? "SIGKILL" : "SIGSTOP");
    if (isKill)
      await eventually(() => ![pid, undefined].includes(system.installation.pid(name)), `${name} is started again`);
    else {
      await delay(1 + random.below(pauseMsMax));
      process.kill(pid, "SIGCONT");
    }
    const urls = system.installation.urls(name);
    await eventually(() => isServing({ urls, tls: undefined, limitMs: 2_000 }), `${name} serves again`);
  } finally {
    isOver = true;
    await Promise.all(writing);
  }
  for (const { writable, answered: least, sent } of all) {
    const stored = await eventually(() => writable.read(), `${writable.name} is read`);
    if (stored < least || stored > sent)
      throw new Error(`${writable.name} has generation ${stored}, not ${least} to ${sent}`);
    counts.read += 1;
  }
  const fault = `${isKill ? "kill" : "stop"} ${name}`;
  tally.faults[fault] = (tally.faults[fault] ?? 0) + 1;
  counts.rounds += 1;
  counts[isKill ? "kills" : "stops"] += 1;
};

/** Writes to its share, one thing after the other, until it is over. */
const write = async (
  share: readonly Progress[],
  isOver: () => boolean,
  ended: (isAnswered: boolean) => void,
): Promise<void> => {
  for (let next = 0; !isOver(); next += 1) {
    const progress = share[next % share.length]!;
    // A write that was not answered is sent again as it was.
    const generation = progress.answered + 1;
    progress.sent = generation;
    try {
      await progress.writable.write(generation);
      progress.answered = generation;
      ended(true);
    } catch {
      ended(false);
      // A process that is gone refuses at once.
      await delay(20);
    }
  }
};
