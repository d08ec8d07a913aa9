/*
 * Goal: no request whatever stops a process, is answered 500, or gets an answer that its protocol cannot read or a code
 * that nobody declared. Method: requests of every operation are drawn from the services' descriptors in both dialects,
 * changed here and there, signed, framed in every way that clients use, and some changed once more on the wire.
 * 2,000 of them, FUZZ_REQUESTS (10,000,000) under `npm run soak`, each 250,000 on an installation of their own.
 * FUZZ_SEED chooses others, and figures are printed.
 */
import { CreateDomainCommand } from "@aws-sdk/client-customer-profiles";
import { CreateBucketCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import { svcDialect } from "../../../gateway/dialects/svc.ts";
import { apiServices } from "../../../gateway/services.ts";
import { processNames } from "../../../services/launcher/processes.ts";
import { isSoak, rounds } from "../../support/rounds.ts";
import type { System } from "../../support/system.ts";
import { startSystem } from "../../support/system.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { frameRequest } from "./framing.ts";
import { Learned } from "./message-grammar.ts";
import { mutateDraft } from "./mutation.ts";
import { judge } from "./oracle.ts";
import type { Random } from "./random.ts";
import { randomFrom } from "./random.ts";
import type { Draft } from "./request-grammar.ts";
import { draftForm, draftRequest } from "./request-grammar.ts";
import { WireClient } from "./wire-client.ts";

const requests = rounds(2_000, Number(process.env["FUZZ_REQUESTS"] ?? 10_000_000));
const requestsOfOneMax = 250_000;
const seed = Number(process.env["FUZZ_SEED"] ?? 20_260_104);
const inFlight = 8;
const spellings = [spellingOf(svcDialect("svc")), spellingOf(amzDialect)];

/** Operations by API; those that make something come twice as often as their number says. */
const operations = Object.values(apiServices).map(({ service }) => ({
  service,
  names: service.methods.flatMap(({ name }) => (/^(?:Create|Put|Upload)/.test(name) ? [name, name] : [name])),
}));

const drawDraft = (random: Random, learned: Learned): Draft => {
  const { service, names } = random.one(operations);
  const spelling = random.one(spellings);
  const draft = random.chance(2)
    ? draftForm(spelling, random)
    : draftRequest(service, random.one(names), spelling, random, learned);
  if (random.chance(55)) return draft;
  for (let count = 1 + random.below(2); count > 0; count -= 1) mutateDraft(draft, random);
  return draft;
};

/** Makes what most requests name, so that they find something. */
const prepare = async ({ clients }: System): Promise<void> => {
  await clients.customerProfile.send(new CreateDomainCommand({ DomainName: "fuzz", DefaultExpirationDays: 1 }));
  for (const Bucket of ["fuzz-photos", "fuzz-plain"])
    await clients.objectStorage.send(new CreateBucketCommand({ Bucket }));
  for (const Key of ["cat.jpg", "a/b", "keep"])
    await clients.objectStorage.send(new PutObjectCommand({ Bucket: "fuzz-photos", Key, Body: "meow" }));
};

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
    await prepare(system);
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
    for (let sent = 0; sent < requests; sent += requestsOfOneMax)
      await runInstallation(Math.min(requestsOfOneMax, requests - sent), seed + sent, tally);

    const perSecond = Math.round((requests * 1_000) / (Date.now() - startedMs));
    const figures = { requests, perSecond, statuses: Object.fromEntries(tally.statuses) };
    if (process.env["FUZZ_SEED"] !== undefined || isSoak)
      process.stdout.write(`${JSON.stringify({ ...figures, operations: [...tally.succeeded].toSorted() })}\n`);
    // Requests that never get past the signature would prove nothing.
    expect(tally.succeeded.size).toBeGreaterThan(30);
  },
);
