import type { OwnerPlace, PoolBounds } from "../../kit/jobs/jobs.ts";
import { limits } from "../limits.ts";
import { accountOfLetters } from "./dead-letter-job.ts";
import { ownsFlows } from "./flow/flow-job.ts";
import { ownsResolutions } from "./resolution/resolution-job.ts";

type Pool = "removals" | "letters" | "flows" | "resolutions";

const poolOf = (owner: string): Pool => {
  if (accountOfLetters(owner) !== undefined) return "letters";
  if (ownsFlows(owner)) return "flows";
  return ownsResolutions(owner) ? "resolutions" : "removals";
};

/** Queues that do not answer, flows and resolutions, which work for long, occupy no places of removals. */
export const jobPools: Readonly<Record<Pool, PoolBounds>> = {
  removals: { concurrency: limits.runningRemovalsMax, concurrencyPerOwner: limits.runningRemovalsPerAccountMax },
  letters: { concurrency: limits.runningLettersMax, concurrencyPerOwner: limits.runningLettersPerQueueMax },
  flows: { concurrency: limits.runningFlowsMax, concurrencyPerOwner: limits.runningFlowsPerAccountMax },
  resolutions: {
    concurrency: limits.runningResolutionsMax,
    concurrencyPerOwner: limits.runningResolutionsPerAccountMax,
  },
};

/** The pool of an owner's jobs. Accounts take turns in each, and then the queues of an account. */
export const placeOfOwner = (owner: string): OwnerPlace => ({
  pool: poolOf(owner),
  group: accountOfLetters(owner) ?? owner,
});
