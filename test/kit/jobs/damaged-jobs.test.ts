import { expect, onTestFinished, test } from "vitest";

import type { KeyTuple, Table } from "../../../services/kit/store/table.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { capturingLogger } from "../../support/capturing-logger.ts";
import { damageStoredRecord } from "../../support/damaged-record.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { jobHarness, leftovers, tables } from "./job-harness.ts";

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
