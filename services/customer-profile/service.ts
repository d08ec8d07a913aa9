import { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import type { Handlers } from "../kit/server/handlers.ts";
import { pending } from "../kit/server/handlers.ts";
import type { Application } from "./application.ts";
import { authorized } from "./access/guard.ts";
import { createDomain, deleteDomain, getDomain, listDomains, updateDomain } from "./operations/domain.ts";
import {
  deleteIntegration,
  getIntegration,
  listAccountIntegrations,
  listIntegrations,
  putIntegration,
} from "./operations/integration.ts";
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
import { searchProfiles } from "./operations/search.ts";
import { listTagsForResource, tagResource, untagResource } from "./operations/tag.ts";

/** Operations that are known and not offered. */
const notOffered = pending(CustomerProfileService, "getMatches");

/** The whole service: every operation, behind its authorization. */
export const handlers: Handlers<typeof CustomerProfileService, Application> = authorized({
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
  ...notOffered,
});
