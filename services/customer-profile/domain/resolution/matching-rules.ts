import type {
  AttributeTypesSelector,
  MatchingRequest,
  RuleBasedMatchingRequest,
} from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import { emailPaths, phonePaths } from "../profile-fields.ts";
import { findMergingProblem, isAttribute } from "./auto-merging.ts";
import { selectedAddress } from "./rules.ts";

/** Why settings of identity resolution are not valid, as a message for their author; undefined if they are. */
export const findMatchingProblem = ({ autoMerging, exportingConfig }: MatchingRequest): string | undefined => {
  if (exportingConfig?.s3Exporting !== undefined)
    return "results are not exported to buckets; leave ExportingConfig out and list them with GetMatches";
  return autoMerging && findMergingProblem(autoMerging);
};

/** Why settings of matching by rules are not valid, as a message for their author; undefined if they are. */
export const findRulesProblem = (request: RuleBasedMatchingRequest): string | undefined => {
  const { enabled, matchingRules, attributeTypesSelector, conflictResolution } = request;
  const { maxAllowedRuleLevelForMatching: matching, maxAllowedRuleLevelForMerging: merging } = request;
  if (enabled === true && matchingRules.length === 0) return "an enabled RuleBasedMatching needs MatchingRules";
  const unknown = matchingRules.flatMap(({ rule }) => rule).find((name) => !isAttribute(name));
  if (unknown !== undefined) return `MatchingRules names ${unknown}, which is no attribute of profiles`;
  if (matching !== undefined && merging !== undefined && merging > matching)
    return "MaxAllowedRuleLevelForMerging is above MaxAllowedRuleLevelForMatching";
  return (
    (attributeTypesSelector && findSelectorProblem(attributeTypesSelector)) ??
    findMergingProblem({ conflictResolution })
  );
};

const findSelectorProblem = ({ address, phoneNumber, emailAddress }: AttributeTypesSelector): string | undefined => {
  const unknown =
    address.find((name) => selectedAddress(name) === undefined) ??
    phoneNumber.find((name) => !phonePaths.some((path) => path === name)) ??
    emailAddress.find((name) => !emailPaths.some((path) => path === name));
  return unknown === undefined ? undefined : `AttributeTypesSelector names ${unknown}, which is no field of that kind`;
};
