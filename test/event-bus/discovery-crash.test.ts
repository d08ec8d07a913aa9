import { isDeepStrictEqual } from "node:util";

import { expect, test } from "vitest";

import { eventually } from "../support/eventually.ts";
import { rounds } from "../support/rounds.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import type { EventBusClient } from "./harness.ts";
import { startProcess } from "./harness.ts";

/*
 * Events whose details have one more property in each round are put, and the process is killed while what was observed
 * of them is written. What is not written yet may be lost, what was seen to be written may not.
 */

const kills = rounds(3, 60);
const kinds = ["Gift", "Loan", "Sale"];
const writers = 4;

/** What was discovered of a kind of events. */
interface Discovered {
  readonly version: number;
  readonly versions: readonly number[];
  readonly eventCount: number;
  readonly properties: readonly string[];
}

const discoveredOf = async (client: EventBusClient, detailType: string): Promise<Discovered> => {
  const { schema, versions } = await client.describeDiscoveredSchema({ source: "shop", detailType });
  const document = JSON.parse(schema?.schema ?? "") as { properties: { detail: { properties?: object } } };
  return {
    version: schema?.schemaVersion ?? 0,
    versions: versions.map(({ schemaVersion = 0 }) => schemaVersion),
    eventCount: Number(schema?.eventCount),
    properties: Object.keys(document.properties.detail.properties ?? {}),
  };
};

/** What was discovered, by kind of events. */
const discovered = async (client: EventBusClient): Promise<Map<string, Discovered>> => {
  const { schemas } = await client.discoverSchemas({});
  const found = new Map<string, Discovered>();
  for (const { detailType } of schemas) found.set(detailType, await discoveredOf(client, detailType));
  return found;
};

const propertyOf = (round: number): string => `p${String(round).padStart(2, "0")}`;

test(
  "discovered schemas remain what was written, however often the process is killed, and become complete again",
  async () => {
    const dataDir = await temporaryDirectory();
    let service = await startProcess(dataDir);
    await service.client.startSchemaDiscovery({});
    let tried = 0;
    const put = async (client: EventBusClient, members: object): Promise<void> => {
      tried += 1;
      const detail = JSON.stringify(members);
      await client.putEvents({ entries: kinds.map((detailType) => ({ source: "shop", detailType, detail })) });
    };
    const putUntilKilled = async (client: EventBusClient, round: number): Promise<void> => {
      try {
        for (;;) await put(client, { n: "x", [propertyOf(round)]: "x" });
      } catch {
        // The process has been killed.
      }
    };
    let seen = new Map<string, Discovered>();
    let written = 0;
    for (let round = 0; round < kills; round += 1) {
      const { client } = service;
      const putting = Array.from({ length: writers }, () => putUntilKilled(client, round));
      // In every second round as soon as the events of the round are seen in a schema, while others are written.
      const hasBegun = async () =>
        round % 2 === 0
          ? (await discovered(client)).get("Sale")?.properties.includes(propertyOf(round))
          : tried > 0 && (await discovered(client)).size >= seen.size;
      await eventually(hasBegun, "events are put");
      seen = await discovered(client);
      await service.kill();
      await Promise.all(putting);
      service = await startProcess(dataDir);
      const after = await discovered(service.client);
      written += [...after.values()].filter(({ properties }) => properties.includes(propertyOf(round))).length;
      for (const [detailType, before] of seen) {
        const { version, versions, eventCount, properties } = after.get(detailType) as Discovered;
        expect(version).toBeGreaterThanOrEqual(before.version);
        // The last ten versions, without a gap.
        const first = Math.max(1, version - 9);
        expect(versions).toEqual(Array.from({ length: version - first + 1 }, (_none, at) => first + at));
        expect(properties).toEqual(expect.arrayContaining([...before.properties]));
        expect([eventCount >= before.eventCount, eventCount <= tried]).toEqual([true, true]);
      }
    }
    const all = ["n", ...Array.from({ length: kills }, (_none, round) => propertyOf(round))];
    await put(service.client, Object.fromEntries(all.map((name) => [name, "x"])));
    const properties = async () =>
      [...(await discovered(service.client))].map(([kind, each]) => [kind, each.properties.toSorted().join()]);
    const complete = kinds.map((kind) => [kind, all.join()]);
    await eventually(
      async () => isDeepStrictEqual(await properties(), complete),
      "the schema of every kind is complete",
    );
    console.info(`${kills} kills during the discovery of ${tried} events, ${written} schemas written before a kill`);
    expect(await properties()).toEqual(complete);
    expect(written).toBeGreaterThan(0);
  },
  120_000 + kills * 30_000,
);
