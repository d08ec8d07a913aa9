import { equals } from "@bufbuild/protobuf";

import type { RuleBasedMatchingResponse } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import { RuleBasedMatchingResponseSchema } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import type { Jobs } from "../../../kit/jobs/jobs.ts";
import type { Transaction } from "../../../kit/store/transaction.ts";
import { findResolutions, putResolutions } from "../../store/resolution.ts";
import { allProfiles, findRulesId, noteForRules, putRules, removeRules } from "../../store/rule-matching.ts";
import { enqueueResolutionPurge } from "./resolution-purge.ts";

/** A domain whose settings were put, with what its transaction must not draw itself. */
interface PutRules {
  readonly domainId: Uint8Array;
  readonly account: string;
  readonly domainName: string;
  readonly rules: RuleBasedMatchingResponse | undefined;
  /** Unset: it had none. */
  readonly earlierRules?: RuleBasedMatchingResponse | undefined;
  readonly newRulesId: Uint8Array;
}

/**
 * Begins or ends the matching by rules of a domain, as its settings say. Rules that have changed begin again under
 * another identifier; what the earlier ones found is not seen any more.
 */
export const applyRules = async (jobs: Jobs, transaction: Transaction, put: PutRules): Promise<void> => {
  const { domainId, account, domainName, rules, earlierRules, newRulesId: rulesId } = put;
  if (rules?.enabled !== true) return endRules(jobs, transaction, domainId);
  const isApplied = (await findRulesId(transaction, domainId)) !== undefined;
  if (isApplied && earlierRules !== undefined && equals(RuleBasedMatchingResponseSchema, earlierRules, rules)) return;
  await endRules(jobs, transaction, domainId);
  const resolutionId = (await findResolutions(transaction, domainId))?.resolutionId ?? new Uint8Array();
  putResolutions(transaction, domainId, { resolutionId, account, domainName, rulesId });
  putRules(transaction, rulesId, { domainId, account, domainName, status: "PENDING", notedId: new Uint8Array() });
  noteForRules(transaction, rulesId, allProfiles);
};

/** Ends the matching by rules of a domain, if it has it: what was found is not seen any more, and is removed. */
export const endRules = async (jobs: Jobs, transaction: Transaction, domainId: Uint8Array): Promise<void> => {
  const enabled = await findResolutions(transaction, domainId);
  if (enabled === undefined || enabled.rulesId.length === 0) return;
  putResolutions(transaction, domainId, { ...enabled, rulesId: new Uint8Array() });
  removeRules(transaction, enabled.rulesId);
  enqueueResolutionPurge(jobs, transaction, enabled.account, enabled.rulesId);
};
