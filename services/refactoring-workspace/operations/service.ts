/**
 * Services. Creating refuses a reserved name, reserved tag keys, an endpoint that does not fit its type, a client token
 * of another request, an application that is not there or of another account, and one service too many; the others
 * refuse a service that is not there. Deleting refuses a service that a route leads to.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { ServiceRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { ServiceRecordSchema } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { CreateServiceRequest } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { CreateServiceResponseSchema } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import type { ServiceSummarySchema } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import { ServiceEndpointType, ServiceState } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Application, Operation } from "../application.ts";
import { arnOf } from "../application.ts";
import { findEndpointProblem } from "../domain/endpoint.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { enterVpc, leaveVpc } from "../store/environment.ts";
import { listRoutes } from "../store/route.ts";
import * as stored from "../store/service.ts";
import { ownApplication } from "./application.ts";
import { existing, refuseOverQuota, refuseReservedName, refuseReservedTagKeys } from "./checks.ts";
import { onceByToken } from "./client-token.ts";
import { cutPage, pageOf } from "./page.ts";

/** Makes a service. Its endpoint is asked only when a route to it becomes active. */
export const createService: Operation<"createService"> = async (request, context) => {
  const { app, caller } = context;
  refuseReservedName(request.name, "svc-");
  refuseReservedTagKeys(request.tags);
  const problem = findEndpointProblem(request);
  if (problem !== undefined) throw fault(ErrorReason.ENDPOINT_INVALID, { problem });
  const vpc = request.vpcId === undefined ? undefined : await app.fabric.describeVpc(caller.accountId, request.vpcId);
  const serviceId = `svc-${app.ids.token(10)}`;
  const now = timestampFromMs(app.clock.now());

  return app.store.transact((transaction) =>
    onceByToken(transaction, context, request, created, async () => {
      const { environmentId, applicationId, ownerAccountId } = await ownApplication(transaction, context, request);
      const others = await stored.listServices(transaction, environmentId, applicationId, undefined, quota.max);
      refuseOverQuota(others.length, { ...quota, resourceId: applicationId });
      const record = create(ServiceRecordSchema, {
        serviceId,
        applicationId,
        environmentId,
        ownerAccountId,
        createdByAccountId: caller.accountId,
        name: request.name,
        description: request.description,
        vpcId: request.vpcId,
        endpoint: endpointOf(request),
        tags: request.tags,
        createdTime: now,
        lastUpdatedTime: now,
      });
      stored.putService(transaction, record);
      if (request.vpcId !== undefined && vpc !== undefined)
        await enterVpc(transaction, environmentId, request.vpcId, vpc, now);
      return { resourceId: serviceId, answer: serviceAnswer(app, record) };
    }),
  );
};

/** Tells a service. */
export const getService: Operation<"getService"> = async (request, context) => {
  const record = await context.app.store.read((reader) => ownService(reader, context, request));
  return serviceAnswer(context.app, record);
};

/** Deletes a service that no route leads to. A second call is refused, because the service is not there any more. */
export const deleteService: Operation<"deleteService"> = async (request, context) => {
  const { app } = context;
  const now = timestampFromMs(app.clock.now());

  const record = await app.store.transact(async (transaction) => {
    const service = await ownService(transaction, context, request);
    const { environmentId, applicationId, serviceId, vpcId } = service;
    const all = await listRoutes(transaction, environmentId, applicationId, undefined, limits.routesPerApplicationMax);
    const route = all.find((each) => each.serviceId === serviceId);
    if (route !== undefined)
      throw fault(ErrorReason.RESOURCE_IN_USE, {
        resource_type: "SERVICE",
        resource_id: serviceId,
        used_by: `the route ${route.routeId}`,
      });
    stored.deleteService(transaction, service);
    if (vpcId !== undefined) await leaveVpc(transaction, environmentId, vpcId, now);
    return service;
  });

  const { serviceId, applicationId, environmentId, arn, name } = serviceAnswer(app, record);
  const state = ServiceState.DELETING;
  return { serviceId, applicationId, environmentId, arn, name, state, lastUpdatedTime: now };
};

/** Lists an application's services by id. */
export const listServices: Operation<"listServices"> = async (request, context) => {
  const { app } = context;
  const { environmentIdentifier: environmentId, applicationIdentifier: applicationId } = request;
  const page = pageOf(context, [environmentId, applicationId], request);
  const found = await app.store.read(async (reader) => {
    await ownApplication(reader, context, request);
    return stored.listServices(reader, environmentId, applicationId, page.after, page.itemsMax + 1);
  });

  const { shown, ...next } = cutPage(page, found, ServiceRecordSchema, (record) => record.serviceId);
  return { serviceSummaryList: shown.map((record) => serviceAnswer(app, record)), ...next };
};

/** The service that a request names, when the caller's account owns it. Throws RESOURCE_NOT_FOUND, ACCESS_DENIED. */
export const ownService = async (
  reader: Reader,
  context: CallContext<Application>,
  request: {
    readonly environmentIdentifier: string;
    readonly applicationIdentifier: string;
    readonly serviceIdentifier: string;
  },
): Promise<ServiceRecord> => {
  const { environmentId, applicationId } = await ownApplication(reader, context, request);
  const found = await stored.findService(reader, environmentId, applicationId, request.serviceIdentifier);
  return existing(found, "SERVICE", request.serviceIdentifier);
};

const created = { resourceType: "SERVICE", response: CreateServiceResponseSchema } as const;

const quota = {
  code: "services-per-application",
  resourceType: "APPLICATION",
  max: limits.servicesPerApplicationMax,
} as const;

const endpointOf = ({ urlEndpoint, functionEndpoint }: CreateServiceRequest): ServiceRecord["endpoint"] => {
  if (urlEndpoint !== undefined) return { case: "urlEndpoint", value: urlEndpoint };
  return functionEndpoint === undefined ? { case: undefined } : { case: "functionEndpoint", value: functionEndpoint };
};

const serviceAnswer = (app: Application, record: ServiceRecord) => {
  const { serviceId, applicationId, environmentId, ownerAccountId, endpoint } = record;
  return {
    serviceId,
    applicationId,
    environmentId,
    arn: arnOf(app, ownerAccountId, { kind: "service", environmentId, applicationId, serviceId }),
    name: record.name,
    description: record.description,
    endpointType: endpoint.case === "urlEndpoint" ? ServiceEndpointType.URL : ServiceEndpointType.FUNCTION,
    urlEndpoint: endpoint.case === "urlEndpoint" ? endpoint.value : undefined,
    functionEndpoint: endpoint.case === "functionEndpoint" ? endpoint.value : undefined,
    vpcId: record.vpcId,
    ownerAccountId,
    createdByAccountId: record.createdByAccountId,
    state: ServiceState.ACTIVE,
    tags: record.tags,
    createdTime: record.createdTime,
    lastUpdatedTime: record.lastUpdatedTime,
  } satisfies MessageInitShape<typeof ServiceSummarySchema>;
};
