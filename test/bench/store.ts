import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { BytesValueSchema, Int64ValueSchema } from "@bufbuild/protobuf/wkt";
import { Level } from "level";

import { systemClock } from "../../services/kit/clock/clock.ts";
import { randomIds } from "../../services/kit/ids/ids.ts";
import { createJobs, jobTables } from "../../services/kit/jobs/jobs.ts";
import type { Store } from "../../services/kit/store/store.ts";
import { openStore } from "../../services/kit/store/store.ts";
import { defineTable, integer, keyBytes, text } from "../../services/kit/store/table.ts";
import { silentLogger } from "../support/silent-logger.ts";
import type { BenchGroup, BenchRow } from "./bench.ts";

type Database = Level<Buffer, Buffer>;

const records = defineTable({
  number: 1,
  name: "records",
  key: [text("caller"), integer("number")],
  value: BytesValueSchema,
});
const counters = defineTable({ number: 2, name: "counters", key: [text("name")], value: Int64ValueSchema });
const value = new Uint8Array(300).fill(7);
const scannedCount = 50_000;

/** Calls per second when this many callers each call again as soon as they were answered, for about a second. */
const rate = async (callers: number, call: (caller: number, number: number) => Promise<unknown>): Promise<number> => {
  let calls = 0;
  const beginMs = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      while (performance.now() - beginMs < 1_000) await call(caller, calls++);
    }),
  );
  return (calls / (performance.now() - beginMs)) * 1_000;
};

/** How many a second when all of them are done once. */
const throughput = async (count: number, run: () => Promise<void>): Promise<number> => {
  const beginMs = performance.now();
  await run();
  return (count / (performance.now() - beginMs)) * 1_000;
};

const row = (
  what: string,
  unit: string,
  measured: number,
  baseline: BenchRow["baseline"],
  target?: number,
): BenchRow => ({
  what,
  value: measured,
  unit,
  baseline,
  ratio: measured / baseline.value,
  ...(target === undefined ? {} : { target }),
});

const keyOf = (caller: number, number: number): Buffer => Buffer.from(keyBytes(records, [`${caller}`, number]));

const commits = async (store: Store, database: Database): Promise<BenchRow[]> => {
  const rows: BenchRow[] = [];
  const rawRecord = Buffer.from(value);
  for (const callers of [1, 16, 64]) {
    const raw = await rate(callers, (caller, number) => database.put(keyOf(caller, number), rawRecord, { sync: true }));
    const kept = await rate(callers, (caller, number) =>
      store.transact((tx) => tx.put(records, [`${caller}`, number], { value })),
    );
    const baseline = { what: `synced LevelDB puts/s, ${callers} callers`, value: raw };
    rows.push(row(`commits, ${callers} callers, 300 bytes`, "commits/s", kept, baseline, callers === 1 ? 0.7 : 1.5));
    if (callers !== 64) continue;
    const hot = await rate(callers, () =>
      store.transact(async (tx) => {
        const counter = await tx.get(counters, ["hot"]);
        tx.put(counters, ["hot"], { value: (counter?.value ?? 0n) + 1n });
      }),
    );
    rows.push(row(`commits, ${callers} callers, all of one record`, "commits/s", hot, baseline, 1));
  }
  return rows;
};

const reads = async (store: Store, database: Database): Promise<BenchRow[]> => {
  for (let number = 0; number < scannedCount; number += 1_000) {
    const batch = database.batch();
    for (let each = number; each < number + 1_000; each += 1) batch.put(keyOf(0, each), Buffer.from(value));
    await batch.write();
    await store.transact((tx) => {
      for (let each = number; each < number + 1_000; each += 1) tx.put(records, ["0", each], { value });
    });
  }
  const rawGets = await throughput(scannedCount, async () => {
    for (let number = 0; number < scannedCount; number += 1) database.getSync(keyOf(0, number));
  });
  const gets = await throughput(scannedCount, () =>
    store.read(async (reader) => {
      for (let number = 0; number < scannedCount; number += 1) await reader.get(records, ["0", number]);
    }),
  );
  const rawScan = await throughput(scannedCount, async () => {
    const iterator = database.iterator({
      gte: keyOf(0, 0),
      lt: keyOf(0, scannedCount),
      highWaterMarkBytes: 256 * 1024,
    });
    while ((await iterator.nextv(1_000)).length > 0);
    await iterator.close();
  });
  const scan = await throughput(scannedCount, () =>
    store.read(async (reader) => {
      for await (const _entry of reader.range(records, { prefix: ["0"], to: ["0", scannedCount] }));
    }),
  );
  return [
    row("gets in one read", "gets/s", gets, { what: "getSync/s", value: rawGets }, 0.4),
    row(
      "entries of a range, decoded and checked",
      "entries/s",
      scan,
      { what: "entries/s of nextv(1000)", value: rawScan },
      0.4,
    ),
  ];
};

const jobsRow = async (store: Store, database: Database): Promise<BenchRow> => {
  const count = 10_000;
  const jobs = createJobs({
    store,
    tables: jobTables(10),
    clock: systemClock,
    ids: randomIds,
    log: silentLogger,
    handlers: { nothing: async () => ({ done: true }) },
    policy: { nothing: { attemptsMax: 1, ageMsMax: 60_000, backoff: () => 1 } },
  });
  for (let begun = 0; begun < count; begun += 1_000)
    await store.transact((tx) => {
      for (let each = 0; each < 1_000; each += 1)
        jobs.enqueue(tx, { kind: "nothing", owner: `owner-${each % 100}`, payload: value });
    });
  const drained = await throughput(count, async () => {
    jobs.start();
    await jobs.idle();
  });
  await jobs.stop();
  const raw = await rate(64, (caller, number) =>
    database.put(keyOf(caller, number), Buffer.from(value), { sync: true }),
  );
  return row(
    "jobs leased, run and removed",
    "jobs/s",
    drained,
    { what: "synced LevelDB puts/s, 64 callers", value: raw },
    0.5,
  );
};

/** The store and its jobs against the database under them. */
export const group: BenchGroup = {
  name: "store",
  async run() {
    const directory = await mkdtemp(join(tmpdir(), "quartet-bench-"));
    const store = await openStore({ directory: join(directory, "store") });
    const database: Database = new Level(join(directory, "raw"), { keyEncoding: "buffer", valueEncoding: "buffer" });
    await database.open();
    try {
      return [...(await commits(store, database)), ...(await reads(store, database)), await jobsRow(store, database)];
    } finally {
      await store.close();
      await database.close();
      await rm(directory, { recursive: true });
    }
  },
};
