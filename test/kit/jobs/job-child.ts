// Run by crash.test.ts: opens the store in the directory given, begins a job that never ends, and waits to be killed.
import { systemClock } from "../../../services/kit/clock/clock.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import { createJobs, jobTables } from "../../../services/kit/jobs/jobs.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import { silentLogger } from "../../support/silent-logger.ts";

const store = await openStore({ directory: process.argv[2] as string });
const jobs = createJobs({
  store,
  tables: jobTables(50),
  clock: systemClock,
  ids: randomIds,
  log: silentLogger,
  handlers: {
    held: (job, { attempt }) => {
      console.log(`running ${job.id}, attempt ${attempt}`);
      return new Promise(() => {});
    },
  },
  policy: { held: { attemptsMax: 3, ageMsMax: 3_600_000, backoff: () => 1_000 } },
});
await store.transact((tx) => {
  const payload = Buffer.from("to be delivered");
  jobs.enqueue(tx, { kind: "held", owner: "alice", payload, id: "deliver-1" });
  jobs.enqueue(tx, { kind: "held", owner: "alice", payload, id: "deliver-2", dueMs: Date.now() + 1e12 });
});
jobs.start();
setInterval(() => {}, 60_000);
