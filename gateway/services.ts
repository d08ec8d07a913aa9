import { CustomerProfileService } from "../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ErrorReasonSchema as CustomerProfileErrors } from "../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { ErrorReasonSchema as EventBusErrors } from "../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { EventBusService } from "../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { ErrorReasonSchema as ObjectStorageErrors } from "../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ObjectStorageService } from "../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ErrorReasonSchema as RefactoringWorkspaceErrors } from "../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { RefactoringWorkspaceService } from "../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { IdentityService } from "../gen/quartet/identity/v1/identity_service_pb.ts";
import { SecurityTokenService } from "../gen/quartet/identity/v1/security_token_service_pb.ts";
import { checkRoutes } from "../services/kit/contract/routes.ts";
import type { ServiceName } from "../services/launcher/processes.ts";
import type { ServiceConnection } from "./api-binding.ts";

/** A service behind an API, and whether it keeps a log for which requests are reported to it. */
type ApiService = Pick<ServiceConnection, "service" | "errors"> & { readonly isReportedTo: boolean };

/** The services of an installation, by the names of their APIs, and the reasons of their errors. */
export const apiServices = {
  "customer-profile": { service: CustomerProfileService, errors: CustomerProfileErrors, isReportedTo: false },
  "refactoring-workspace": {
    service: RefactoringWorkspaceService,
    errors: RefactoringWorkspaceErrors,
    isReportedTo: false,
  },
  "event-bus": { service: EventBusService, errors: EventBusErrors, isReportedTo: false },
  "object-storage": { service: ObjectStorageService, errors: ObjectStorageErrors, isReportedTo: true },
} as const satisfies Readonly<Record<ServiceName, ApiService>>;

/** The services that the gateway itself serves. */
export const ownServices = [SecurityTokenService, IdentityService];

/**
 * Checks the contract of all that the gateway serves over HTTP. Making a bundle checks it, and so does a start from the
 * sources. Throws ContractError if its routes and members cannot be served without ambiguity.
 */
export const checkContract = (): void =>
  checkRoutes([...Object.values(apiServices).map(({ service }) => service), ...ownServices]);
