import type { MessageInitShape } from "@bufbuild/protobuf";

import type { RuleBasedMatchingRequestSchema } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import { nextRules } from "../../../../services/customer-profile/store/rule-matching.ts";
import { eventually } from "../../../support/eventually.ts";
import type { Harness, HarnessOptions } from "../../harness.ts";
import { startHarness } from "../../harness.ts";
import type { Person } from "./resolving.ts";

/** A domain that applies rules, with people in it. */
export interface Ruling extends Harness {
  /** Stores people; returns their identifiers. */
  add(...people: readonly Person[]): Promise<string[]>;
  /** Lets time pass until all that has changed is compared. */
  settle(): Promise<void>;
  /** The matches: the level of each and its profiles, in the order of the first profile. */
  found(): Promise<(readonly [level: number | undefined, profileIds: string])[]>;
}

type Rules = Omit<MessageInitShape<typeof RuleBasedMatchingRequestSchema>, "$typeName" | "enabled" | "matchingRules">;

/** The settings with these rules, each with its attributes between blanks. */
export const ruling = (rules: readonly string[], more: Rules = {}) => ({
  enabled: true,
  matchingRules: rules.map((rule) => ({ rule: rule.split(" ") })),
  ...more,
});

const pollMs = 1_000;

export const startRuling = async (
  ruleBasedMatching: MessageInitShape<typeof RuleBasedMatchingRequestSchema>,
  options: HarnessOptions = {},
): Promise<Ruling> => {
  const harness = await startHarness(options);
  const { client, clock, store } = harness;
  if (options.directory === undefined)
    await client.createDomain({ domainName: "shop", defaultExpirationDays: 1_000, ruleBasedMatching });
  return {
    ...harness,
    async add(...people) {
      const ids: string[] = [];
      for (const person of people) ids.push((await client.createProfile({ domainName: "shop", ...person })).profileId);
      return ids;
    },
    async settle() {
      await eventually(async () => {
        const isLeft = (await store.read((reader) => nextRules(reader, undefined))) !== undefined;
        // A round that is over has a timer for the next.
        const isOver = clock.pending().some((atMs) => atMs > clock.now() && atMs <= clock.now() + pollMs);
        if (isOver && isLeft) clock.advance(pollMs);
        return isOver && !isLeft ? true : undefined;
      }, "all that has changed is compared");
    },
    async found() {
      const { matchIds } = await client.listRuleBasedMatches({ domainName: "shop", maxResults: 100 });
      const matches = [];
      for (const searchValue of matchIds) {
        const named = { matchType: "RULE_BASED_MATCHING", searchKey: "matchId", searchValue };
        const { ruleLevel, profileIds } = await client.getSimilarProfiles({ domainName: "shop", ...named });
        matches.push([ruleLevel, profileIds.join()] as const);
      }
      return matches.toSorted(([, a], [, b]) => (a < b ? -1 : 1));
    },
  };
};
