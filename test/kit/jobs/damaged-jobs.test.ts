import { Level } from "level";
import { expect, onTestFinished, test } from "vitest";

import { endsAlone } from "../../../services/kit/jobs/run-ends.ts";
import { StoreCorruptionError } from "../../../services/kit/store/errors.ts";
import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { keyBytes } from "../../../services/kit/store/table.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { jobHarness, leftovers, patient, payload, started, tables } from "./job-harness.ts";

const large = new Uint8Array(5_000);
const clock = new FakeClock();
const startMs = clock.now();
const laterMs = startMs + 60_000;

// the damaged record, the jobs that run, whether one is lost
test.for<readonly [Table, KeyTuple, string, boolean]>([
  [tables.states, ["b"], "a 1,c 1,d 1", true],
  [tables.states, ["d"], "a 1,b 1,c 1", true],
  [tables.bodies, ["c"], "a 1,b 1,d 1", true],
  [tables.ready, ["alice", startMs, "b"], "a 1,b 1,c 1,d 1", false],
  [tables.scheduled, [laterMs, "d"], "a 1,b 1,c 1,d 1", false],
])("a damaged record of %o holds up no other job", async ([table, key, ran, isJobLost]) => {
  const directory = await temporaryDirectory();
  const open = async () => {
    const store = await openStore({ directory: `${directory}/leveldb`, sync: false });
    onTestFinished(() => store.close());
    return store;
  };
  const first = await jobHarness({ store: await open(), clock: new FakeClock() });
  const job = { kind: "note", owner: "alice", payload: new Uint8Array() };
  await first.enqueue({ ...job, id: "a" }, { ...job, id: "b" }, { ...job, id: "c", payload: large });
  await first.enqueue({ ...job, id: "d", dueMs: laterMs });
  await first.store.close();
  await damageStoredRecord(directory, table, key);

  const { log, lines } = capturingLogger();
  const second = await jobHarness({ store: await open(), clock: new FakeClock(), log });
  second.jobs.start();
  await eventually(async () => {
    second.clock.advance(5_000);
    const left = await leftovers(second.store).catch(() => undefined);
    return left !== undefined && Object.keys(left).length === 0;
  }, "nothing is left of any job");
  expect(lines).toContainEqual(expect.objectContaining({ msg: "a damaged record of a job was set aside", isJobLost }));
  expect(second.noted.toSorted().join()).toBe(ran);
});

test("a record of a job at a key that cannot be read is deleted, and holds up no job", async () => {
  const directory = await temporaryDirectory();
  const open = async () => {
    const store = await openStore({ directory: `${directory}/leveldb`, sync: false });
    onTestFinished(() => store.close());
    return store;
  };
  const first = await jobHarness({ store: await open(), clock: new FakeClock() });
  await first.enqueue({ kind: "note", owner: "alice", payload: new Uint8Array(), id: "a" });
  await first.store.close();
  const ready = Buffer.from(keyBytes(tables.ready, ["alice", startMs, "a"]));
  const level = new Level<Buffer, Buffer>(`${directory}/leveldb`, { keyEncoding: "buffer", valueEncoding: "buffer" });
  await level.put(ready.subarray(0, -4), Buffer.from("no record"));
  await level.close();

  const { log, lines } = capturingLogger();
  const second = await jobHarness({ store: await open(), clock: new FakeClock(), log });
  second.jobs.start();
  await eventually(async () => {
    second.clock.advance(5_000);
    const left = await leftovers(second.store).catch(() => undefined);
    return left !== undefined && Object.keys(left).length === 0;
  }, "nothing is left of the job");
  expect(lines).toContainEqual(
    expect.objectContaining({
      msg: "a damaged record of a job was set aside",
      record: `${tables.ready.name}/0x${ready.subarray(0, -4).toString("hex")}`,
    }),
  );
  expect(second.noted).toEqual(["a 1"]);
});

const damagedRead = (): never => {
  throw new StoreCorruptionError(Buffer.from("key"), "its checksum does not hold");
};

test("a job too old to run ends though its end needs a damaged record, and holds up no other", async () => {
  const { log, lines } = capturingLogger();
  const policy = { held: { ...patient, onExhausted: damagedRead } };
  const closed = { count: 0, againMs: startMs + 1_000_000_000 };
  const open = { count: 1, againMs: startMs };
  const roomNow = (owner: string) => (owner === "shut" ? closed : open);
  const gate = { roomNow, roomOf: (_reader: unknown, owner: string) => Promise.resolve(roomNow(owner)), begin() {} };
  const { jobs, enqueue, store, clock: later, noted } = await jobHarness({ log, policy, gate });
  jobs.start();
  await enqueue({ kind: "held", owner: "shut", payload, id: "a", expiresMs: startMs + 1_000 });
  await enqueue({ kind: "note", owner: "open", payload, id: "b", dueMs: startMs + 10_000 });
  await eventually(async () => {
    later.advance(1_000);
    return Object.keys(await leftovers(store)).length === 0;
  }, "nothing is left of any job");
  expect(noted).toEqual(["b 1"]);
  expect(lines.filter(({ msg }) => msg === endsAlone)).toHaveLength(1);
});

test("a job that was given up ends though its end needs a damaged record", async () => {
  const { log, lines } = capturingLogger();
  const policy = { held: { ...patient, onExhausted: damagedRead } };
  const { jobs, enqueue, store, held } = await jobHarness({ log, policy });
  await enqueue({ kind: "held", owner: "alice", payload });
  jobs.start();
  const [run] = await started(held, 1);
  run?.end({ failed: true, reason: "it never will" });
  await jobs.idle();
  expect(await leftovers(store)).toEqual({});
  expect(lines.filter(({ msg }) => msg === endsAlone)).toHaveLength(1);
});
