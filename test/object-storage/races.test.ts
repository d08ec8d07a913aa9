/** Writers of one key at the same time, through the gateway with the official SDK. */
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import { expect, test } from "vitest";

import { rounds } from "../support/rounds.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const racers = 64;
const counters = 32;
const increments = rounds(3, 30);

const refusalOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return "stored";
  } catch (error) {
    if (error instanceof S3ServiceException) return error.name;
    throw error;
  }
};

test(
  "of 64 that create one key exactly one does, and 32 that count by If-Match lose no step",
  async () => {
    const system = await startSystem(await temporaryDirectory(), "silent");
    try {
      const clients = Array.from(
        { length: racers },
        () => system.clientsFor(system.accessKeyId, system.secretAccessKey).objectStorage,
      );
      const races = { Bucket: "races" };
      await clients[0]!.send(new CreateBucketCommand(races));

      const created = { ...races, Key: "created" };
      const outcomes = await Promise.all(
        clients.map((client, racer) => {
          const Body = Buffer.alloc(racer % 2 === 0 ? 100 : 200_000, `${racer};`);
          return refusalOf(client.send(new PutObjectCommand({ ...created, Body, IfNoneMatch: "*" })));
        }),
      );
      expect(outcomes.filter((outcome) => outcome === "stored")).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === "PreconditionFailed")).toHaveLength(racers - 1);
      const { Body } = await clients[0]!.send(new GetObjectCommand(created));
      expect((await Body?.transformToString())?.split(";")[0]).toBe(`${outcomes.indexOf("stored")}`);

      const counter = { ...races, Key: "counter" };
      await clients[0]!.send(new PutObjectCommand({ ...counter, Body: "0" }));
      const increment = async (client: (typeof clients)[number]): Promise<boolean> => {
        const { Body: stored, ETag: IfMatch } = await client.send(new GetObjectCommand(counter));
        const next = Number(await stored?.transformToString()) + 1;
        return (
          (await refusalOf(client.send(new PutObjectCommand({ ...counter, Body: `${next}`, IfMatch })))) === "stored"
        );
      };
      await Promise.all(
        clients.slice(0, counters).map(async (client) => {
          for (let done = 0; done < increments;) if (await increment(client)) done += 1;
        }),
      );
      const { Body: last } = await clients[0]!.send(new GetObjectCommand(counter));
      expect(Number(await last?.transformToString())).toBe(counters * increments);
      const { Contents } = await clients[0]!.send(new ListObjectsV2Command(races));
      expect(Contents?.map(({ Key }) => Key)).toEqual(["counter", "created"]);
    } finally {
      await system.stop();
    }
  },
  rounds(120_000, 1_200_000),
);
