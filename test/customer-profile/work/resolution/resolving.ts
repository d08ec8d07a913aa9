import type { MessageInitShape } from "@bufbuild/protobuf";

import type { CreateProfileRequestSchema } from "../../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import type { MatchingRequestSchema } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import type { Harness, HarnessOptions, ProfileClient } from "../../harness.ts";
import { startHarness } from "../../harness.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** What is said of a person, without the domain. */
export type Person = Omit<MessageInitShape<typeof CreateProfileRequestSchema>, "$typeName" | "domainName">;

/** A domain that looks for matches, with people in it. It is Friday, 2026-01-02, 03:04:05 UTC. */
export interface Resolving extends Harness {
  /** Stores people; returns their identifiers. */
  add(...people: readonly Person[]): Promise<string[]>;
  /** Lets jobs run until an instant, and those that are due then. */
  passTo(ms: number): Promise<void>;
  /** Lets a week pass, with its job. */
  passWeek(): Promise<void>;
  /** The profiles of all matches with their confidence, in the order of the first profile. */
  found(): Promise<(readonly [profileIds: string, confidence: number])[]>;
}

export const startResolving = async (
  matching: MessageInitShape<typeof MatchingRequestSchema> = { enabled: true },
  options: HarnessOptions = {},
): Promise<Resolving> => {
  const harness = await startHarness(options);
  const { client, clock, app } = harness;
  if (options.directory === undefined)
    await client.createDomain({ domainName: "shop", defaultExpirationDays: 1_000, matching });
  const passTo = async (ms: number) => {
    clock.set(ms);
    await app.jobs.idle();
  };
  return {
    ...harness,
    passTo,
    passWeek: () => passTo(clock.now() + 7 * dayMs),
    async add(...people) {
      const ids: string[] = [];
      for (const person of people) ids.push((await client.createProfile({ domainName: "shop", ...person })).profileId);
      return ids;
    },
    async found() {
      const { matches } = await client.getMatches({ domainName: "shop" });
      return matches
        .map(({ profileIds, confidenceScore = 0 }) => [profileIds.join(), Number(confidenceScore.toFixed(3))] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1));
    },
  };
};

/** Deletes a profile, or merges it into the first unless it is that one; returns those that are left. */
export const removeOne = async (
  client: ProfileClient,
  ids: readonly string[],
  profileId: string,
  isDeleted: boolean,
): Promise<string[]> => {
  if (isDeleted || profileId === ids[0]) await client.deleteProfile({ domainName: "shop", profileId });
  else await client.mergeProfiles({ domainName: "shop", mainProfileId: ids[0]!, profileIdsToBeMerged: [profileId] });
  return ids.filter((id) => id !== profileId);
};

/** Identifiers as a match lists them. */
export const together = (...ids: readonly (string | undefined)[]): string => ids.map(String).toSorted().join();
