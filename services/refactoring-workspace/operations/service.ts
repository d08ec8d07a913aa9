/**
 * Services. The guard has checked that the environment is not another account's. CreateService refuses, in this order:
 * (1) a reserved name, (2) reserved tag keys, (3) an endpoint that does not match its type, (4) a client token of
 * another request, (5) an environment, (6) an application that does not exist, (7) one service more than an application
 * may hold. The others refuse (1) an environment, (2) an application, (3) a service that does not exist; DeleteService
 * then refuses a service that a route sends requests to.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { ServiceRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { ServiceRecordSchema } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { CreateServiceRequest } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { CreateServiceResponseSchema } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import type { ServiceSummarySchema } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import { ServiceEndpointType, ServiceState } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import type { Application, Operation } from "../application.ts";
import { findEndpointProblem } from "../domain/endpoint.ts";
import type { Quota } from "../domain/quota.ts";
import { refuseOverQuota } from "../domain/quota.ts";
import { arnOf, refuseReservedName } from "../domain/resource-name.ts";
import { timesOf } from "../domain/resource-times.ts";
import { refuseReservedTagKeys } from "../domain/tag-rules.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { getApplication } from "../store/application.ts";
import { idempotently } from "../store/client-token.ts";
import { enterVpc, leaveVpc } from "../store/environment.ts";
import { allRoutesOf } from "../store/route.ts";
import * as stored from "../store/service.ts";

/**
 * Creates a service. Its endpoint is checked only when a route to it becomes active. Repeating the call with its client
 * token changes nothing.
 */
export const createService: Operation<"createService"> = async (request, { app, access, method }) => {
  const { accountId } = access;
  refuseReservedName(request.name, "svc-");
  refuseReservedTagKeys(request.tags);
  const problem = findEndpointProblem(request);
  if (problem !== undefined) throw fault(ErrorReason.ENDPOINT_INVALID, { problem });
  const vpc = request.vpcId === undefined ? undefined : await app.fabric.describeVpc(accountId, request.vpcId);
  const serviceId = `svc-${app.ids.token(10)}`;
  const nowMs = app.clock.now();

  return app.store.transact((transaction) =>
    idempotently(transaction, { accountId, method, nowMs }, request, created, async () => {
      const { environmentId, applicationId, ownerAccountId } = await getApplication(transaction, request);
      const others = await stored.listServices(transaction, environmentId, applicationId, undefined, quota.max);
      refuseOverQuota(others.length, quota, applicationId);
      const record = create(ServiceRecordSchema, {
        serviceId,
        applicationId,
        environmentId,
        ownerAccountId,
        createdByAccountId: accountId,
        name: request.name,
        description: request.description,
        vpcId: request.vpcId,
        endpoint: endpointOf(request),
        tags: request.tags,
        createdMs: BigInt(nowMs),
        lastUpdatedMs: BigInt(nowMs),
      });
      stored.putService(transaction, record);
      if (request.vpcId !== undefined && vpc !== undefined)
        await enterVpc(transaction, environmentId, request.vpcId, vpc, nowMs);
      return { resourceId: serviceId, answer: serviceAnswer(app, record) };
    }),
  );
};

/** Returns a service. */
export const getService: Operation<"getService"> = async (request, { app }) => {
  const record = await app.store.read((reader) => stored.getService(reader, request));
  return serviceAnswer(app, record);
};

/** Deletes a service that no route sends requests to. Repeating the call fails with RESOURCE_NOT_FOUND. */
export const deleteService: Operation<"deleteService"> = async (request, { app }) => {
  const nowMs = app.clock.now();

  const record = await app.store.transact(async (transaction) => {
    const service = await stored.getService(transaction, request);
    const { environmentId, applicationId, serviceId, vpcId } = service;
    const routes = await allRoutesOf(transaction, environmentId, applicationId);
    const route = routes.find((each) => each.serviceId === serviceId);
    if (route !== undefined)
      throw fault(ErrorReason.RESOURCE_IN_USE, {
        resource_type: "SERVICE",
        resource_id: serviceId,
        used_by: `the route ${route.routeId}`,
      });
    stored.deleteService(transaction, service);
    if (vpcId !== undefined) await leaveVpc(transaction, environmentId, vpcId, nowMs);
    return service;
  });

  const { serviceId, applicationId, environmentId, arn, name } = serviceAnswer(app, record);
  const state = ServiceState.DELETING;
  return { serviceId, applicationId, environmentId, arn, name, state, lastUpdatedTime: timestampFromMs(nowMs) };
};

/** Lists an application's services by id. */
export const listServices: Operation<"listServices"> = async (request, context) => {
  const { app } = context;
  const { environmentIdentifier: environmentId, applicationIdentifier: applicationId } = request;
  const page = app.pages.open(context, request, [environmentId, applicationId]);
  const found = await app.store.read(async (reader) => {
    await getApplication(reader, request);
    return stored.listServices(reader, environmentId, applicationId, page.after, page.lookFor);
  });

  const bytesOf = (record: ServiceRecord) => toBinary(ServiceRecordSchema, record).byteLength;
  const { items, ...next } = page.cut(found, ({ serviceId }) => serviceId, bytesOf);
  return { serviceSummaryList: items.map((record) => serviceAnswer(app, record)), ...next };
};

const created = { resourceType: "SERVICE", response: CreateServiceResponseSchema } as const;

const quota: Quota = {
  code: "services-per-application",
  resourceType: "APPLICATION",
  max: limits.servicesPerApplicationMax,
};

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
    arn: arnOf(app.arnPrefix, ownerAccountId, { kind: "service", environmentId, applicationId, serviceId }),
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
    ...timesOf(record),
  } satisfies MessageInitShape<typeof ServiceSummarySchema>;
};
