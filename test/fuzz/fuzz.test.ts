/*
 * Goal: no bytes of anybody's break a parser: it refuses with a declared error or reads them, in time that grows no
 * faster than their length, and what it reads meets the target's invariants. Method: the inputs of each corpus and a
 * fixed number of their mutations; under `npm run soak` as well FUZZ_SECONDS (3,600) of coverage-guided fuzzing
 * for each target, as `npm run fuzz` does.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { afterAll, describe, expect, test } from "vitest";

import { seededRandom } from "../kit/store/seeded-random.ts";
import { isSoak } from "../support/rounds.ts";
import { readCorpus, textOf } from "./corpus.ts";
import { runWithin } from "./limits.ts";
import { inflated, mutated } from "./random-bytes.ts";
import { targets } from "./targets.ts";
import { stopServer } from "./targets/rpc.ts";

const mutationsOf = (name: string): number => (name === "first-bytes" ? 100 : 1_000);
const seconds = Number(process.env["FUZZ_SECONDS"] ?? 3_600);

afterAll(stopServer);

describe("a parser of other people's bytes", () => {
  test.each(targets.map((target) => [target.name, target] as const))(
    "%s keeps its invariants for its corpus and mutations of it",
    async (name, target) => {
      const corpus = readCorpus(target);
      const random = seededRandom(7);
      const { dictionary } = target;
      const inputs = Array.from({ length: mutationsOf(name) }, () =>
        mutated(random.pick(corpus), random, { corpus, dictionary }),
      );
      const long = Array.from({ length: 5 }, () => inflated(random.pick(corpus), random));
      const findings: string[] = [];
      for (const input of [...corpus, ...inputs, ...long])
        try {
          await runWithin(target, input);
        } catch (error) {
          findings.push(`${textOf(input)}: ${String(error)}`);
        }
      expect(findings).toEqual([]);
    },
  );
});

test.each(isSoak ? targets.map(({ name }) => name) : [])(
  "%s keeps its invariants under guidance by coverage",
  (name) => {
    const main = join(import.meta.dirname, "main.ts");
    const run = spawnSync(process.execPath, [main, "--target", name, "--seconds", `${seconds}`], { encoding: "utf8" });
    process.stdout.write(run.stdout);
    expect(`${run.stderr}${run.status === 0 ? "" : run.stdout}`).toBe("");
  },
  (seconds + 120) * 1_000,
);
