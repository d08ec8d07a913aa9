import { RefactoringWorkspaceService } from "../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { guarded } from "../kit/server/guard.ts";
import { guard } from "./access/guard.ts";
import { createApplication, deleteApplication, getApplication, listApplications } from "./operations/application.ts";
import {
  createEnvironment,
  deleteEnvironment,
  getEnvironment,
  listEnvironments,
  listEnvironmentVpcs,
} from "./operations/environment.ts";
import { deleteResourcePolicy, getResourcePolicy, putResourcePolicy } from "./operations/resource-policy.ts";
import { explainRoute } from "./operations/route-explanation.ts";
import { createRoute, deleteRoute, getRoute, listRoutes, setRouteTraffic, updateRoute } from "./operations/route.ts";
import { createService, deleteService, getService, listServices } from "./operations/service.ts";
import { listTagsForResource, tagResource, untagResource } from "./operations/tag.ts";

/** Every operation of the service, reached only through the guard. */
export const handlers = guarded(
  RefactoringWorkspaceService,
  {
    createApplication,
    createEnvironment,
    createRoute,
    createService,
    deleteApplication,
    deleteEnvironment,
    deleteResourcePolicy,
    deleteRoute,
    deleteService,
    explainRoute,
    getApplication,
    getEnvironment,
    getResourcePolicy,
    getRoute,
    getService,
    listApplications,
    listEnvironments,
    listEnvironmentVpcs,
    listRoutes,
    listServices,
    listTagsForResource,
    putResourcePolicy,
    setRouteTraffic,
    tagResource,
    untagResource,
    updateRoute,
  },
  guard,
);
