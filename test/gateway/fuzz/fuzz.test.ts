/*
 * Goal: no request whatever stops a process, is answered 500, or gets an answer that its protocol cannot read or a code
 * that nobody declared. Method: requests of every operation are drawn from the services' descriptors in both dialects,
 * changed here and there, signed, framed in every way that clients use, and some changed once more on the wire.
 * 2,000 of them, 100,000 under `npm run soak`, one after the other on eight connections, whose answers are read whole;
 * and a torrent of 5,000, FUZZ_REQUESTS (10,000,000) under `npm run soak`, of whose answers only the status counts.
 * FUZZ_SEED chooses others, and figures are printed.
 */
import { expect, test } from "vitest";

import { processNames } from "../../../services/launcher/processes.ts";
import { isSoak, rounds } from "../../support/rounds.ts";
import type { System } from "../../support/system.ts";
import { startSystem } from "../../support/system.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { frameRequest } from "./framing.ts";
import { Learned } from "./message-grammar.ts";
import { judge } from "./oracle.ts";
import type { Random } from "./random.ts";
import { randomFrom } from "./random.ts";
import { drawDraft, prepareFuzzing } from "./requests.ts";
import { runTorrents } from "./torrents.ts";
import { WireClient } from "./wire-client.ts";

const requests = rounds(2_000, 100_000);
const torrentRequests = rounds(5_000, Number(process.env["FUZZ_REQUESTS"] ?? 10_000_000));
const seed = Number(process.env["FUZZ_SEED"] ?? 20_260_104);
const inFlight = 8;
interface Tally {
  readonly problems: string[];
  readonly statuses: Map<string, number>;
  readonly succeeded: Set<string>;
}

const runLane = async (system: System, random: Random, learned: Learned, count: number, tally: Tally) => {
  const url = system.installation.gatewayUrl;
  const client = new WireClient(url);
  for (let done = 0; done < count && tally.problems.length < 20; done += 1) {
    const draft = drawDraft(random, learned);
    const framed = frameRequest(draft, new URL(url).host, system, random);
    const outcome = await client.exchange(framed, draft.method === "HEAD");
    const problem = judge(draft, framed.isWhole, outcome, learned);
    if (problem !== undefined)
      tally.problems.push(`${draft.api} ${draft.operation}: ${problem}\n${framed.bytes.toString("latin1", 0, 1_200)}`);
    const status =
      outcome.kind === "answer" ? `${outcome.answer.status} ${codeOf(outcome.answer.body)}`.trim() : outcome.kind;
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    if (status.startsWith("2")) tally.succeeded.add(`${draft.api} ${draft.operation}`);
  }
  client.close();
};

/** The code of a refusal, for the figures. */
const codeOf = (body: Buffer): string =>
  /(?:<Error><Code>|"__type":")([^<"]*)/.exec(body.toString("latin1", 0, 400))?.[1] ?? "";

/** Sends so many requests to an installation of its own. */
const runInstallation = async (count: number, firstSeed: number, tally: Tally): Promise<void> => {
  const system = await startSystem(await temporaryDirectory());
  try {
    await prepareFuzzing(system);
    const before = processNames.map((name) => system.installation.pid(name));
    const learned = new Learned();
    const lanes = Array.from({ length: inFlight }, (_, lane) =>
      runLane(system, randomFrom(firstSeed + lane), learned, Math.ceil(count / inFlight), tally),
    );
    await Promise.all(lanes);
    expect(tally.problems).toEqual([]);
    expect(processNames.map((name) => system.installation.pid(name))).toEqual(before);
  } finally {
    await system.stop();
  }
};

test(
  "no request stops a process, is answered 500, or gets an answer that cannot be read",
  { timeout: 60_000 + requests * 20 },
  async () => {
    const tally: Tally = { problems: [], statuses: new Map(), succeeded: new Set() };
    const startedMs = Date.now();
    await runInstallation(requests, seed, tally);
    const perSecond = Math.round((requests * 1_000) / (Date.now() - startedMs));
    const figures = { requests, perSecond, statuses: Object.fromEntries(tally.statuses) };
    if (process.env["FUZZ_SEED"] !== undefined || isSoak)
      process.stdout.write(`${JSON.stringify({ ...figures, operations: [...tally.succeeded].toSorted() })}\n`);
    // Requests that never get past the signature would prove nothing.
    expect(tally.succeeded.size).toBeGreaterThan(30);
  },
);

test(
  "no torrent of requests stops a process, is answered 500, waits without an answer, or lets memory grow",
  { timeout: 120_000 + torrentRequests * 10 },
  async () => {
    const { tally } = await runTorrents({ seed, requests: torrentRequests, seconds: Infinity });
    expect(tally.problems).toEqual([]);
    // Requests that only ever fail at the gateway would prove nothing.
    expect([...tally.statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 403, 404]));
    process.stdout.write(`seed ${seed}: ${JSON.stringify(Object.fromEntries(tally.statuses))}\n`);
  },
);
