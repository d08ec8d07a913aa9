import { describe, expect, it } from "vitest";

import type { Reader, Store, Transaction } from "../../../services/kit/store/store.ts";
import { defaultLimits, openStore, storeOver } from "../../../services/kit/store/store.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { memoryEngine } from "./memory-engine.ts";
import { rounds } from "../../support/rounds.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { seededRandom } from "./seeded-random.ts";
import { notes } from "./tables.ts";

/*
 * Goal: transactions that run at the same time have the effect of running one after the other. Method: workers run
 * random transactions over a dozen keys, with pauses at random places, and write down what they read and wrote.
 * Afterwards the transactions are replayed one by one, in the order of their commits, on a plain map. Each must
 * read there what it read in the store, and the map must end as the store did.
 */

type State = Map<string, string>;

type Step =
  | { readonly kind: "get"; readonly key: string; readonly found: string | undefined }
  | {
      readonly kind: "list";
      readonly prefix: string;
      readonly limit: number;
      readonly reverse: boolean;
      readonly found: string;
    }
  | { readonly kind: "put"; readonly key: string; readonly value: string }
  | { readonly kind: "delete"; readonly key: string }
  | { readonly kind: "deleteRange"; readonly prefix: string };

interface Run {
  steps: Step[];
  /** How many commits were answered before it began: a reader must see a state not older than that. */
  readonly answeredBefore: number;
}

const owners = ["a", "ab", "b"];
const titlesOfOwner = ["", "1", "2", "\u0000", "é"];

/** A list of the model, in the order of the keys' UTF-8. */
const modelList = (state: State, prefix: string, limit: number, reverse: boolean): string => {
  const keys = [...state.keys()]
    .filter((key) => key.startsWith(`${prefix}/`))
    .toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
  if (reverse) keys.reverse();
  return JSON.stringify(keys.slice(0, limit).map((key) => [key, state.get(key)]));
};

const pause = async (random: SeededRandom): Promise<void> => {
  for (let turns = random.below(3); turns > 0; turns -= 1) await new Promise(setImmediate);
};

const readStep = async (reader: Reader, random: SeededRandom): Promise<Step> => {
  const owner = random.pick(owners);
  if (random.chance(0.5)) {
    const title = random.pick(titlesOfOwner);
    const key = [owner, title] as const;
    const found = random.chance(0.5) ? await reader.get(notes, key) : await reader.getShared(notes, key);
    return { kind: "get", key: `${owner}/${title}`, found: found?.value };
  }
  const limit = 1 + random.below(4);
  const reverse = random.chance(0.5);
  const entries = await reader.list(notes, { prefix: [owner], limit, reverse });
  const found = JSON.stringify(entries.map(({ key, value }) => [key.join("/"), value.value]));
  return { kind: "list", prefix: owner, limit, reverse, found };
};

const writeStep = async (tx: Transaction, random: SeededRandom, value: string): Promise<Step> => {
  const owner = random.pick(owners);
  const title = random.pick(titlesOfOwner);
  const kind = random.below(10);
  if (kind === 0) {
    await tx.deleteRange(notes, { prefix: [owner] });
    return { kind: "deleteRange", prefix: owner };
  }
  if (kind < 4) {
    tx.delete(notes, [owner, title]);
    return { kind: "delete", key: `${owner}/${title}` };
  }
  tx.put(notes, [owner, title], { value });
  return { kind: "put", key: `${owner}/${title}`, value };
};

/** Runs workers until each has done its share. Gives the writers in commit order and the readers. */
const runWorkers = async (store: Store, seed: number, workers: number, share: number) => {
  const committed: Run[] = [];
  const readers: Run[] = [];
  const worker = async (number: number): Promise<void> => {
    const random = seededRandom(seed * 1000 + number);
    for (let count = 0; count < share; count += 1) {
      const run: Run = { steps: [], answeredBefore: committed.length };
      const length = 1 + random.below(5);
      if (random.chance(0.2)) {
        await store.read(async (reader) => {
          for (let step = 0; step < length; step += 1) {
            run.steps.push(await readStep(reader, random));
            await pause(random);
          }
        });
        readers.push(run);
        continue;
      }
      await store.transact(async (tx) => {
        run.steps = [];
        for (let step = 0; step < length; step += 1) {
          run.steps.push(
            random.chance(0.5) ? await readStep(tx, random) : await writeStep(tx, random, `${number}.${count}.${step}`),
          );
          await pause(random);
        }
        // A write at the end makes every one of these take a place in the order of commits.
        run.steps.push({ kind: "put", key: `z${number}/`, value: `${count}` });
        tx.put(notes, [`z${number}`, ""], { value: `${count}` });
        tx.afterCommit(() => committed.push(run));
      });
      await pause(random);
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, number) => worker(number)));
  return { committed, readers };
};

/** Runs one transaction on the model; gives the first step that read something else. */
const replay = (state: State, run: Run): Step | undefined => {
  let different: Step | undefined;
  for (const step of run.steps)
    switch (step.kind) {
      case "get":
        if (state.get(step.key) !== step.found) different ??= step;
        break;
      case "list":
        if (modelList(state, step.prefix, step.limit, step.reverse) !== step.found) different ??= step;
        break;
      case "put":
        state.set(step.key, step.value);
        break;
      case "delete":
        state.delete(step.key);
        break;
      case "deleteRange":
        for (const key of state.keys()) if (key.startsWith(`${step.prefix}/`)) state.delete(key);
        break;
    }
  return different;
};

/** Everything that contradicts a serial order; empty when there is none. */
const contradictions = async (store: Store, seed: number): Promise<unknown[]> => {
  const { committed, readers } = await runWorkers(store, seed, 8, 12);
  const found: unknown[] = [];
  const state: State = new Map();
  const states: State[] = [new Map()];
  for (const [index, run] of committed.entries()) {
    const different = replay(state, run);
    if (different !== undefined) found.push({ seed, index, different });
    states.push(new Map(state));
  }
  for (const run of readers) {
    const fitting = states.slice(run.answeredBefore).some((each) => replay(new Map(each), run) === undefined);
    if (!fitting) found.push({ seed, reader: run });
  }
  const last = await store.read((reader) => reader.list(notes, { limit: 1000 }));
  const stored = last.map(({ key, value }) => [key.join("/"), value.value]);
  const expected = [...state].toSorted(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
  if (JSON.stringify(stored) !== JSON.stringify(expected)) found.push({ seed, stored, expected });
  return found;
};

describe("concurrent transactions", () => {
  it.each([
    ["on a disk", false],
    ["on a disk whose keys are read meanwhile", true],
  ])(
    "have the effect of some serial order, %s",
    async (_where, areKeysRead) => {
      for (let seed = 1; seed <= rounds(8, 400); seed += 1) {
        const store = await openStore({
          directory: await temporaryDirectory(),
          sync: false,
          limits: { attemptsMax: 1000 },
        });
        const [found] = await Promise.all([contradictions(store, seed), areKeysRead && store.knowKeys(notes)]);
        expect(found).toEqual([]);
        await store.close();
      }
    },
    600_000,
  );

  it.each([
    ["when losers run again inside the group", {}],
    ["when losers run again outside of it", { rerunMsMax: 0 }],
    ["when the memory of changes is tiny", { conflictKeysMax: 3 }],
    ["when groups are tiny", { groupBytesMax: 1 }],
  ])(
    "have the effect of some serial order, %s",
    async (_when, limits) => {
      for (let seed = 1; seed <= rounds(10, 1000); seed += 1) {
        const store = storeOver(memoryEngine(), { ...defaultLimits, attemptsMax: 1000, ...limits });
        expect(await contradictions(store, seed)).toEqual([]);
        await store.close();
      }
    },
    600_000,
  );
});
