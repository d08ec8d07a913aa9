import { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { guarded } from "../kit/server/guard.ts";
import { guard } from "./access/guard.ts";
import { createDomain, deleteDomain, getDomain, listDomains, updateDomain } from "./operations/domain.ts";
import {
  deleteIntegration,
  getIntegration,
  listAccountIntegrations,
  listIntegrations,
  putIntegration,
} from "./operations/integration.ts";
import { getAutoMergingPreview, getMatches, getSimilarProfiles, listRuleBasedMatches } from "./operations/match.ts";
import { mergeProfiles } from "./operations/merge.ts";
import {
  deleteProfileObjectType,
  getProfileObjectType,
  getProfileObjectTypeTemplate,
  listProfileObjectTypes,
  listProfileObjectTypeTemplates,
  putProfileObjectType,
} from "./operations/object-type.ts";
import { deleteProfileObject, listProfileObjects, putProfileObject } from "./operations/profile-object.ts";
import { addProfileKey, deleteProfileKey } from "./operations/profile-key.ts";
import { createProfile, deleteProfile, updateProfile } from "./operations/profile.ts";
import { getIdentityResolutionJob, listIdentityResolutionJobs } from "./operations/resolution-job.ts";
import { searchProfiles } from "./operations/search.ts";
import { listTagsForResource, tagResource, untagResource } from "./operations/tag.ts";

/** Every operation of the service, reached only through the guard. */
export const handlers = guarded(
  CustomerProfileService,
  {
    createDomain,
    getDomain,
    updateDomain,
    deleteDomain,
    listDomains,
    createProfile,
    updateProfile,
    deleteProfile,
    searchProfiles,
    addProfileKey,
    deleteProfileKey,
    tagResource,
    untagResource,
    listTagsForResource,
    putProfileObjectType,
    getProfileObjectType,
    deleteProfileObjectType,
    listProfileObjectTypes,
    getProfileObjectTypeTemplate,
    listProfileObjectTypeTemplates,
    putProfileObject,
    listProfileObjects,
    deleteProfileObject,
    putIntegration,
    getIntegration,
    deleteIntegration,
    listIntegrations,
    listAccountIntegrations,
    mergeProfiles,
    getMatches,
    getAutoMergingPreview,
    getIdentityResolutionJob,
    listIdentityResolutionJobs,
    getSimilarProfiles,
    listRuleBasedMatches,
  },
  guard,
);
