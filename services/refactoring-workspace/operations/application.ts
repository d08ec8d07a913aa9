/**
 * Applications. Creating refuses a reserved name, reserved tag keys, a client token of another request, an environment
 * that is not there or of another account, and one application too many; the others refuse an application that is not
 * there. Deleting refuses an application that holds services or routes.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { ApplicationRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { ApplicationRecordSchema } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { ApplicationSummarySchema } from "../../../gen/quartet/refactoringworkspace/v1/application_pb.ts";
import {
  ApiGatewayEndpointType,
  ApplicationState,
} from "../../../gen/quartet/refactoringworkspace/v1/application_pb.ts";
import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { CreateApplicationResponseSchema } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Application, Operation } from "../application.ts";
import { arnOf } from "../application.ts";
import { ownEnvironment } from "../access/guard.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import * as stored from "../store/application.ts";
import { listRoutes } from "../store/route.ts";
import { listServices } from "../store/service.ts";
import { existing, refuseOverQuota, refuseReservedName, refuseReservedTagKeys } from "./checks.ts";
import { onceByToken } from "./client-token.ts";
import { cutPage, pageOf } from "./page.ts";

/** Makes an application; its proxy answers when this does. */
export const createApplication: Operation<"createApplication"> = async (request, context) => {
  const { app, caller } = context;
  refuseReservedName(request.name, "app-");
  refuseReservedTagKeys(request.tags);
  const { environmentIdentifier: environmentId, apiGatewayProxy } = request;
  const applicationId = `app-${app.ids.token(10)}`;
  const proxy = await app.fabric.createProxy(caller.accountId, applicationId, request.vpcId);
  const now = timestampFromMs(app.clock.now());

  return app.store.transact((transaction) =>
    onceByToken(transaction, context, request, created, async () => {
      const { ownerAccountId } = await ownEnvironment(transaction, context, environmentId);
      const others = await stored.listApplications(transaction, environmentId, undefined, quota.max);
      refuseOverQuota(others.length, { ...quota, resourceId: environmentId });
      const record = create(ApplicationRecordSchema, {
        ...proxy,
        applicationId,
        environmentId,
        ownerAccountId,
        createdByAccountId: caller.accountId,
        name: request.name,
        vpcId: request.vpcId,
        proxyType: request.proxyType,
        endpointType: apiGatewayProxy?.endpointType || ApiGatewayEndpointType.REGIONAL,
        stageName: apiGatewayProxy?.stageName ?? "prod",
        tags: request.tags,
        createdTime: now,
        lastUpdatedTime: now,
      });
      stored.putApplication(transaction, record);
      transaction.afterCommit(() => app.routeTable.refresh(record));
      const { endpointType, stageName } = record;
      const answer = { ...applicationAnswer(app, record), apiGatewayProxy: { endpointType, stageName } };
      return { resourceId: applicationId, answer };
    }),
  );
};

/** Tells an application and where its proxy is reached. */
export const getApplication: Operation<"getApplication"> = async (request, context) => {
  const record = await context.app.store.read((reader) => ownApplication(reader, context, request));
  return applicationAnswer(context.app, record);
};

/** Deletes an empty application; its proxy answers no more. A second call is refused. */
export const deleteApplication: Operation<"deleteApplication"> = async (request, context) => {
  const { app } = context;
  const now = timestampFromMs(app.clock.now());

  const record = await app.store.transact(async (transaction) => {
    const application = await ownApplication(transaction, context, request);
    const { environmentId, applicationId } = application;
    const [route] = await listRoutes(transaction, environmentId, applicationId, undefined, 1);
    const [service] = await listServices(transaction, environmentId, applicationId, undefined, 1);
    const usedBy = route === undefined ? service && `the service ${service.serviceId}` : `the route ${route.routeId}`;
    if (usedBy !== undefined)
      throw fault(ErrorReason.RESOURCE_IN_USE, {
        resource_type: "APPLICATION",
        resource_id: applicationId,
        used_by: usedBy,
      });
    stored.deleteApplication(transaction, application);
    transaction.afterCommit(() => app.routeTable.remove(application.apiGatewayId));
    return application;
  });

  await app.fabric.deleteProxy(record.ownerAccountId, record);
  const { applicationId, environmentId, arn, name } = applicationAnswer(app, record);
  return { applicationId, environmentId, arn, name, state: ApplicationState.DELETING, lastUpdatedTime: now };
};

/** Lists an environment's applications by id. */
export const listApplications: Operation<"listApplications"> = async (request, context) => {
  const { app } = context;
  const { environmentIdentifier: environmentId } = request;
  const page = pageOf(context, [environmentId], request);
  const found = await app.store.read(async (reader) => {
    await ownEnvironment(reader, context, environmentId);
    return stored.listApplications(reader, environmentId, page.after, page.itemsMax + 1);
  });

  const { shown, ...next } = cutPage(page, found, ApplicationRecordSchema, (record) => record.applicationId);
  return { applicationSummaryList: shown.map((record) => applicationAnswer(app, record)), ...next };
};

/** The application that a request names, when the caller's account owns it. Throws RESOURCE_NOT_FOUND, ACCESS_DENIED. */
export const ownApplication = async (
  reader: Reader,
  context: CallContext<Application>,
  request: { readonly environmentIdentifier: string; readonly applicationIdentifier: string },
): Promise<ApplicationRecord> => {
  const { environmentId } = await ownEnvironment(reader, context, request.environmentIdentifier);
  const found = await stored.findApplication(reader, environmentId, request.applicationIdentifier);
  return existing(found, "APPLICATION", request.applicationIdentifier);
};

const created = { resourceType: "APPLICATION", response: CreateApplicationResponseSchema } as const;

const quota = {
  code: "applications-per-environment",
  resourceType: "ENVIRONMENT",
  max: limits.applicationsPerEnvironmentMax,
} as const;

const applicationAnswer = (app: Application, record: ApplicationRecord) => {
  const { applicationId, environmentId, ownerAccountId, apiGatewayId, endpointType, stageName } = record;
  const { nlbArn, nlbName, vpcLinkId } = record;
  const proxyUrl = `${app.proxyUrl}/${apiGatewayId}/${stageName}`;
  return {
    applicationId,
    environmentId,
    arn: arnOf(app, ownerAccountId, { kind: "application", environmentId, applicationId }),
    name: record.name,
    proxyType: record.proxyType,
    apiGatewayProxy: { apiGatewayId, endpointType, stageName, proxyUrl, nlbArn, nlbName, vpcLinkId },
    vpcId: record.vpcId,
    ownerAccountId,
    createdByAccountId: record.createdByAccountId,
    state: ApplicationState.ACTIVE,
    tags: record.tags,
    createdTime: record.createdTime,
    lastUpdatedTime: record.lastUpdatedTime,
  } satisfies MessageInitShape<typeof ApplicationSummarySchema>;
};
