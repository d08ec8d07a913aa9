import { expect, test } from "vitest";

import { jobPools, placeOfOwner } from "../../../services/customer-profile/work/job-pools.ts";
import { removalOwner } from "../../../services/customer-profile/work/removal-policy.ts";
import { jobHarness, payload, started } from "../../kit/jobs/job-harness.ts";

const [alice, bob] = ["111111111111", "222222222222"] as const;

/** Of its removals, dead letters, flows and resolutions. */
const ownersOf = (account: string): string[] => [
  removalOwner(account),
  `dead-letters/${account}/errors`,
  `flows/${account}`,
  `resolutions/${account}`,
];

test("an account with jobs of each kind that take long leaves places of each to others", async () => {
  const { jobs, held, enqueue } = await jobHarness({ pools: jobPools, placeOf: placeOfOwner });
  for (const owner of ownersOf(alice))
    await enqueue(...Array.from({ length: 100 }, () => ({ kind: "held", owner, payload })));
  jobs.start();
  await started(held, 23);
  await enqueue(...ownersOf(bob).map((owner) => ({ kind: "held", owner, payload })));
  await started(held, 27);
  const running = Object.groupBy(held, ({ job }) => job.owner);
  const countsOf = (account: string) => ownersOf(account).map((owner) => running[owner]?.length);
  expect([countsOf(alice), countsOf(bob)]).toEqual([
    [16, 4, 2, 1],
    [1, 1, 1, 1],
  ]);
});
