/*
 * Goal: two installations that copy to each other end with the same versions, whatever is killed meanwhile. Method:
 * callers put and delete on both sides; in each round one process of one side is killed or stopped for a moment.
 * What was answered must be on both sides in the end, as it is, and what was not must be on both or on neither.
 */
import { setTimeout as delay } from "node:timers/promises";

import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { seededRandom } from "../kit/store/seeded-random.ts";
import { eventually } from "../support/eventually.ts";
import { rounds } from "../support/rounds.ts";
import type { Side } from "./two-installations.ts";
import { copyAll, startTwoInstallations, versionsOf } from "./two-installations.ts";

const roundsCount = rounds(4, 100);
const callersOfSide = 3;
const victims = ["object-storage", "object-storage", "gateway"] as const;
const answersOfRound = 12;

test(
  "what is put on both sides is on both, whatever is killed meanwhile",
  async () => {
    const { here, there } = await startTwoInstallations();
    await copyAll(here, there);
    await copyAll(there, here);
    const random = seededRandom(20_261_128);
    const answered = new Map<string, string | undefined>();
    let isOver = false;
    let unanswered = 0;
    const call = async ({ client, bucket: Bucket }: Side, number: number): Promise<void> => {
      const Key = random.pick(["a", "b", "c", "d"]);
      const isDeletion = random.chance(0.2);
      const body = `${number} `.repeat(random.chance(0.1) ? 30_000 : 10);
      const sent = isDeletion
        ? client.send(new DeleteObjectCommand({ Bucket, Key }))
        : client.send(new PutObjectCommand({ Bucket, Key, Body: body }));
      const { VersionId } = await sent;
      answered.set(`${VersionId}`, isDeletion ? undefined : body);
    };
    const callers = [here, there].flatMap((side, at) =>
      Array.from({ length: callersOfSide }, async (_, caller) => {
        for (let number = at * 10 + caller; !isOver; number += 100)
          await call(side, number).catch(async () => {
            unanswered += 1;
            await delay(20);
          });
      }),
    );
    for (let round = 0; round < roundsCount; round += 1) {
      const { installation } = random.pick([here, there]).system;
      const name = random.pick(victims);
      const before = answered.size;
      await eventually(() => answered.size >= before + answersOfRound, "callers are answered");
      const pid = installation.pid(name) ?? 0;
      const isKill = random.chance(0.7);
      process.kill(pid, isKill ? "SIGKILL" : "SIGSTOP");
      if (isKill) await eventually(() => ![pid, undefined].includes(installation.pid(name)), `${name} runs again`);
      else {
        await delay(random.below(300));
        process.kill(pid, "SIGCONT");
      }
    }
    isOver = true;
    await Promise.all(callers);

    const both = await eventually(
      async () => {
        const [ours, theirs] = [await versionsOf(here), await versionsOf(there)];
        return JSON.stringify(ours) === JSON.stringify(theirs) ? ours : undefined;
      },
      "both sides have the same versions",
      180_000,
    );
    const ids = new Set(both.map(({ VersionId }) => VersionId));
    expect([...answered.keys()].filter((id) => !ids.has(id))).toEqual([]);
    for (const { client, bucket: Bucket } of [here, there])
      for (const { Key, VersionId } of both) {
        const body = answered.get(`${VersionId}`);
        if (body === undefined) continue;
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, VersionId }));
        expect(await Body?.transformToString()).toBe(body);
      }
    process.stdout.write(`${JSON.stringify({ rounds: roundsCount, answered: answered.size, unanswered })}\n`);
  },
  120_000 + roundsCount * 20_000,
);
