import { CustomerProfileService } from "../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ErrorReasonSchema as CustomerProfileErrors } from "../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { ErrorReasonSchema as EventBusErrors } from "../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { EventBusService } from "../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { ErrorReasonSchema as ObjectStorageErrors } from "../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ObjectStorageService } from "../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ErrorReasonSchema as RefactoringWorkspaceErrors } from "../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { RefactoringWorkspaceService } from "../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
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
