import type { JobPolicy } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";

/** The owner of the jobs that remove what an account has deleted. */
export const removalOwner = (account: string): string => `removals/${account}`;

/** A removal is repeated until it succeeds. */
export const removalPolicy: JobPolicy = {
  attemptsMax: Number.POSITIVE_INFINITY,
  ageMsMax: Number.POSITIVE_INFINITY,
  backoff: exponentialBackoff({ firstMs: 1_000, maxMs: 60 * 60 * 1000 }),
};
