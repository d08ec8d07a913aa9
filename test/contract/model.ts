import type { DescService } from "@bufbuild/protobuf";

import { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ErrorReasonSchema as CustomerProfileErrors } from "../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { ErrorReasonSchema as EventBusErrors } from "../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { ErrorReasonSchema as ObjectStorageErrors } from "../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ErrorReasonSchema as RefactoringWorkspaceErrors } from "../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { RefactoringWorkspaceService } from "../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import type { FaultTable } from "../../services/kit/faults/service-error.ts";
import { faultTable } from "../../services/kit/faults/service-error.ts";
import customerProfile from "./customer-profile.json" with { type: "json" };
import eventBus from "./event-bus.json" with { type: "json" };
import objectStorage from "./object-storage.json" with { type: "json" };
import refactoringWorkspace from "./refactoring-workspace.json" with { type: "json" };

/** What the public API model says about a value. Bounds are of a length, of a number of entries, or of a number. */
export interface ValueFacts {
  /**
   * `string`, `integer`, `long`, `double`, `float`, `boolean`, `timestamp`, `blob`, `list`, `map`, or a structure's
   * name.
   */
  readonly type: string;
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly sensitive?: boolean;
  /** Of a list's elements or a map's values. */
  readonly of?: ValueFacts;
  readonly key?: ValueFacts;
  readonly flattened?: boolean;
  /** The XML name of a list's elements. */
  readonly element?: string;
}

/** What the public API model says about a member of a structure. */
export interface MemberFacts extends ValueFacts {
  /** Absent: in the body. */
  readonly in?: "uri" | "header" | "headers" | "querystring" | "statusCode" | "payload";
  /** Absent: the member's own name. */
  readonly named?: string;
  readonly required?: boolean;
  /** Younger than the documents; a service may leave it out. */
  readonly later?: boolean;
  /** The member is an idempotency token. */
  readonly token?: boolean;
  readonly format?: string;
  readonly attribute?: boolean;
}

/** What the public API model says about an operation. */
export interface OperationFacts {
  readonly input?: string;
  readonly output?: string;
  /** Names of the errors that the operation lists. */
  readonly errors?: readonly string[];
}

/** The facts of one public API model. */
export interface Model {
  readonly operations: Readonly<Record<string, OperationFacts>>;
  /** HTTP status by error name. */
  readonly errors: Readonly<Record<string, number>>;
  readonly shapes: Readonly<Record<string, Readonly<Record<string, MemberFacts>>>>;
}

/** One API: its contract here, and the public model of it. */
export interface ApiUnderTest {
  readonly api: string;
  readonly service: DescService;
  readonly faults: FaultTable;
  readonly model: Model;
}

export const apis: readonly ApiUnderTest[] = [
  {
    api: "customer-profile",
    service: CustomerProfileService,
    faults: faultTable(CustomerProfileErrors),
    model: customerProfile as unknown as Model,
  },
  {
    api: "refactoring-workspace",
    service: RefactoringWorkspaceService,
    faults: faultTable(RefactoringWorkspaceErrors),
    model: refactoringWorkspace as unknown as Model,
  },
  {
    api: "event-bus",
    service: EventBusService,
    faults: faultTable(EventBusErrors),
    model: eventBus,
  },
  {
    api: "object-storage",
    service: ObjectStorageService,
    faults: faultTable(ObjectStorageErrors),
    model: objectStorage as unknown as Model,
  },
];
