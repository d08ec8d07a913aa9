import { create } from "@bufbuild/protobuf";

import type { DomainRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type {
  CreateDomainRequest,
  UpdateDomainRequest,
} from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import type { DataStoreRequest, DataStoreResponse } from "../../../gen/quartet/customerprofile/v1/domain_pb.ts";
import { DataStoreResponseSchema } from "../../../gen/quartet/customerprofile/v1/domain_pb.ts";
import type {
  MatchingRequest,
  MatchingResponse,
  RuleBasedMatchingRequest,
  RuleBasedMatchingResponse,
} from "../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import {
  MatchingResponseSchema,
  RuleBasedMatchingResponseSchema,
} from "../../../gen/quartet/customerprofile/v1/matching_pb.ts";

/** The settings that are set in a request; the others are absent. */
export type DomainSettings = Partial<
  Pick<
    DomainRecord,
    | "defaultExpirationDays"
    | "defaultEncryptionKey"
    | "deadLetterQueueUrl"
    | "tags"
    | "matching"
    | "ruleBasedMatching"
    | "dataStore"
  >
>;

/** The settings that are set in a request. An empty text is a set one, and clears the earlier value. */
export const settingsOf = (request: CreateDomainRequest | UpdateDomainRequest): DomainSettings => {
  const settings: DomainSettings = {};
  if (request.defaultExpirationDays !== undefined) settings.defaultExpirationDays = request.defaultExpirationDays;
  if (request.defaultEncryptionKey !== undefined) settings.defaultEncryptionKey = request.defaultEncryptionKey;
  if (request.deadLetterQueueUrl !== undefined) settings.deadLetterQueueUrl = request.deadLetterQueueUrl;
  if (Object.keys(request.tags).length > 0) settings.tags = request.tags;
  if (request.matching !== undefined) settings.matching = matchingOf(request.matching);
  if (request.ruleBasedMatching !== undefined)
    settings.ruleBasedMatching = ruleBasedMatchingOf(request.ruleBasedMatching);
  if (request.dataStore !== undefined) settings.dataStore = dataStoreOf(request.dataStore);
  return settings;
};

const matchingOf = ({ enabled, jobSchedule, autoMerging, exportingConfig }: MatchingRequest): MatchingResponse =>
  create(MatchingResponseSchema, { enabled, jobSchedule, autoMerging, exportingConfig });

// The stored status is that of rules that have not begun; what they have come to since is in a record of their own.
const ruleBasedMatchingOf = (request: RuleBasedMatchingRequest): RuleBasedMatchingResponse =>
  create(RuleBasedMatchingResponseSchema, {
    enabled: request.enabled,
    matchingRules: request.matchingRules,
    attributeTypesSelector: request.attributeTypesSelector,
    conflictResolution: request.conflictResolution,
    exportingConfig: request.exportingConfig,
    maxAllowedRuleLevelForMerging: request.maxAllowedRuleLevelForMerging,
    maxAllowedRuleLevelForMatching: request.maxAllowedRuleLevelForMatching,
    status: request.enabled === true ? "PENDING" : undefined,
  });

const dataStoreOf = ({ enabled }: DataStoreRequest): DataStoreResponse => create(DataStoreResponseSchema, { enabled });
