import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { processNames } from "../../../services/launcher/processes.ts";
import type { System } from "../../support/system.ts";
import { startSystem } from "../../support/system.ts";
import { Learned } from "./message-grammar.ts";
import { randomFrom } from "./random.ts";
import { drawDraft, prepareFuzzing } from "./requests.ts";
import { TorrentRequests } from "./torrent-requests.ts";
import type { TorrentTally } from "./torrent.ts";
import { emptyTally, runTorrent } from "./torrent.ts";

/** When torrents end. */
interface Torrents {
  readonly seed: number;
  readonly requests: number;
  readonly seconds: number;
}

const requestsOfOneMax = 1_000_000;
/** The most memory that a process may hold. */
const residentMiBMax = 1_024;

/** Torrents on one installation after the other, until so many requests were answered or so much time is over. */
export const runTorrents = async ({
  seed,
  requests,
  seconds,
}: Torrents): Promise<{ readonly tally: TorrentTally; readonly counts: Readonly<Record<string, number>> }> => {
  const tally = emptyTally();
  const endMs = Date.now() + seconds * 1_000;
  let installations = 0;
  const isOver = (): boolean => Date.now() > endMs || tally.answered >= requests || tally.problems.length > 0;
  while (!isOver()) {
    await runInstallation(seed + installations, tally, isOver);
    installations += 1;
  }
  const { answered, broken, unread } = tally;
  return { tally, counts: { answered, broken, unread, installations } };
};

const runInstallation = async (seed: number, tally: TorrentTally, isOver: () => boolean): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), "quartet-torrent-"));
  const system = await startSystem(directory, "error");
  try {
    await prepareFuzzing(system);
    const before = pidsOf(system);
    const random = randomFrom(seed);
    const learned = new Learned();
    const url = system.installation.gatewayUrl;
    const requests = new TorrentRequests(random, () => drawDraft(random, learned), new URL(url).host, system);
    const untilCount = tally.answered + requestsOfOneMax;
    let sampled = Promise.resolve();
    const sampling = setInterval(() => {
      sampled = checkMemory(before, tally);
    }, 1_000);
    await runTorrent(url, requests, tally, () => isOver() || tally.answered >= untilCount);
    clearInterval(sampling);
    await sampled;
    const after = pidsOf(system);
    for (const [name, pid] of Object.entries(before)) if (after[name] !== pid) tally.problems.push(`${name} has ended`);
  } finally {
    await system.stop();
    await rm(directory, { recursive: true, force: true });
  }
};

const pidsOf = ({ installation }: System): Record<string, number | undefined> =>
  Object.fromEntries(processNames.map((name) => [name, installation.pid(name)]));

const checkMemory = async (pids: Readonly<Record<string, number | undefined>>, tally: TorrentTally): Promise<void> => {
  for (const [name, pid] of Object.entries(pids)) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    const resident = Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024;
    if (resident > residentMiBMax) tally.problems.push(`${name} holds ${Math.round(resident)} MiB`);
  }
};
