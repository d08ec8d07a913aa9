import { expect, test } from "vitest";

import { jobOwner, jobPools, placeOfOwner } from "../../../services/object-storage/work/job-pools.ts";
import { jobHarness, payload, started } from "../../kit/jobs/job-harness.ts";

const [alice, bob] = ["111111111111", "222222222222"] as const;

/** Of its events and restores, copies, search indexes and forks. */
const ownersOf = (account: string): string[] => [
  account,
  ...(["copies", "indexes", "forks"] as const).map((pool) => jobOwner(pool, account)),
];

test("an account with jobs of each kind that take long leaves places of each to others", async () => {
  const { jobs, held, enqueue } = await jobHarness({ pools: jobPools, placeOf: placeOfOwner });
  for (const owner of ownersOf(alice))
    await enqueue(...Array.from({ length: 100 }, () => ({ kind: "held", owner, payload })));
  jobs.start();
  await started(held, 68);
  await enqueue(...ownersOf(bob).map((owner) => ({ kind: "held", owner, payload })));
  await started(held, 72);
  const running = Object.groupBy(held, ({ job }) => job.owner);
  const countsOf = (account: string) => ownersOf(account).map((owner) => running[owner]?.length);
  expect([countsOf(alice), countsOf(bob)]).toEqual([
    [48, 16, 2, 2],
    [1, 1, 1, 1],
  ]);
});
