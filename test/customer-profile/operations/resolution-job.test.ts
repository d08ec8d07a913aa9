import { describe, expect, test } from "vitest";

import { refusalOf } from "../harness.ts";
import { startResolving } from "../work/resolution/resolving.ts";

const seconds = (...date: [number, number, number]) => ({ seconds: BigInt(Date.UTC(...date) / 1000) });

describe("listIdentityResolutionJobs", () => {
  test("lists the one that is due, and those that have ended with what they have done, in pages", async () => {
    const { client, add, passTo } = await startResolving();
    await add({ emailAddress: "a@x.org" }, { emailAddress: "a@x.org" }, {});
    await passTo(Date.UTC(2026, 0, 3));
    await passTo(Date.UTC(2026, 0, 10));
    const first = await client.listIdentityResolutionJobs({ domainName: "shop", maxResults: 2 });
    expect(first.identityResolutionJobsList).toMatchObject([
      { domainName: "shop", status: "PENDING", jobStartTime: seconds(2026, 0, 17) },
      {
        status: "COMPLETED",
        jobStartTime: seconds(2026, 0, 10),
        jobStats: { numberOfProfilesReviewed: 0n, numberOfMatchesFound: 1n, numberOfMergesDone: 0n },
      },
    ]);
    expect(first.identityResolutionJobsList[0]!.jobEndTime).toBeUndefined();
    const { nextToken } = first;
    const last = await client.listIdentityResolutionJobs({ domainName: "shop", maxResults: 2, nextToken });
    expect(last.identityResolutionJobsList).toMatchObject([
      {
        status: "COMPLETED",
        jobStartTime: seconds(2026, 0, 3),
        jobEndTime: seconds(2026, 0, 3),
        jobStats: { numberOfProfilesReviewed: 3n, numberOfMatchesFound: 1n },
      },
    ]);
    expect(last.nextToken).toBeUndefined();
  });

  test("lists nothing of a domain that never looked for matches, and refuses one that does not exist", async () => {
    const { client } = await startResolving({ enabled: false });
    expect((await client.listIdentityResolutionJobs({ domainName: "shop" })).identityResolutionJobsList).toEqual([]);
    expect(await refusalOf(client.listIdentityResolutionJobs({ domainName: "none" }))).toBe(
      "DOMAIN_NOT_FOUND: Domain none does not exist",
    );
  });
});

describe("getIdentityResolutionJob", () => {
  test("shows a job until it expires, 30 days after it ended", async () => {
    const { client, passTo } = await startResolving();
    const [due] = (await client.listIdentityResolutionJobs({ domainName: "shop" })).identityResolutionJobsList;
    const wanted = { domainName: "shop", jobId: due!.jobId! };
    const pending = await client.getIdentityResolutionJob(wanted);
    expect(pending).toMatchObject({ status: "PENDING" });
    expect(pending.jobExpirationTime).toBeUndefined();
    await passTo(Date.UTC(2026, 0, 3));
    expect(await client.getIdentityResolutionJob(wanted)).toMatchObject({
      ...wanted,
      status: "COMPLETED",
      lastUpdatedAt: seconds(2026, 0, 3),
      jobExpirationTime: seconds(2026, 1, 2),
    });
    await passTo(Date.UTC(2026, 1, 2) - 1);
    expect(await refusalOf(client.getIdentityResolutionJob(wanted))).toBe("answered");
    await passTo(Date.UTC(2026, 1, 2));
    expect(await refusalOf(client.getIdentityResolutionJob(wanted))).toBe(
      `RESOLUTION_JOB_NOT_FOUND: Identity resolution job ${wanted.jobId} does not exist`,
    );
  });

  test("refuses, in this order", async () => {
    const { client } = await startResolving();
    const jobId = "f".repeat(32);
    expect(await refusalOf(client.getIdentityResolutionJob({ domainName: "none", jobId }))).toBe(
      "DOMAIN_NOT_FOUND: Domain none does not exist",
    );
    expect(await refusalOf(client.getIdentityResolutionJob({ domainName: "shop", jobId }))).toBe(
      `RESOLUTION_JOB_NOT_FOUND: Identity resolution job ${jobId} does not exist`,
    );
  });
});
