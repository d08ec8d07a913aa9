/**
 * Applications. The guard has checked that the environment is not another account's. CreateApplication refuses, in this
 * order: (1) a reserved name, (2) reserved tag keys, (3) a client token of another request, (4) an environment that
 * does not exist, (5) one application more than an environment may hold. The others refuse (1) an environment, (2) an
 * application that does not exist; DeleteApplication then refuses one that holds routes or services.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, toBinary } from "@bufbuild/protobuf";
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
import type { Application, Operation } from "../application.ts";
import type { Quota } from "../domain/quota.ts";
import { refuseOverQuota } from "../domain/quota.ts";
import { arnOf, refuseReservedName } from "../domain/resource-name.ts";
import { timesOf } from "../domain/resource-times.ts";
import { refuseReservedTagKeys } from "../domain/tag-rules.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import * as stored from "../store/application.ts";
import { idempotently } from "../store/client-token.ts";
import { getEnvironment } from "../store/environment.ts";
import { listRoutes } from "../store/route.ts";
import { listServices } from "../store/service.ts";
import type { FabricOwner } from "../work/fabric-release.ts";

/**
 * Creates an application; its proxy serves when this returns. Repeating the call with its client token changes nothing.
 */
export const createApplication: Operation<"createApplication"> = async (request, { app, access, method }) => {
  const { accountId } = access;
  refuseReservedName(request.name, "app-");
  refuseReservedTagKeys(request.tags);
  const { environmentIdentifier: environmentId, apiGatewayProxy } = request;
  const applicationId = `app-${app.ids.token(10)}`;
  const proxy = await app.fabricReleases.provision(proxyOf(accountId, applicationId), () =>
    app.fabric.createProxy(accountId, applicationId, request.vpcId),
  );
  const nowMs = app.clock.now();

  return app.store.transact((transaction) =>
    idempotently(transaction, { accountId, method, nowMs }, request, created, async () => {
      const { ownerAccountId } = await getEnvironment(transaction, environmentId);
      const others = await stored.listApplications(transaction, environmentId, undefined, quota.max);
      refuseOverQuota(others.length, quota, environmentId);
      const record = create(ApplicationRecordSchema, {
        ...proxy.value,
        applicationId,
        environmentId,
        ownerAccountId,
        createdByAccountId: accountId,
        name: request.name,
        vpcId: request.vpcId,
        proxyType: request.proxyType,
        endpointType: apiGatewayProxy?.endpointType || ApiGatewayEndpointType.REGIONAL,
        stageName: apiGatewayProxy?.stageName ?? "prod",
        tags: request.tags,
        createdMs: BigInt(nowMs),
        lastUpdatedMs: BigInt(nowMs),
      });
      stored.putApplication(transaction, record);
      await proxy.keep(transaction);
      transaction.afterCommit(() => app.proxiedApplications.refresh(record));
      const { endpointType, stageName } = record;
      const answer = { ...applicationAnswer(app, record), apiGatewayProxy: { endpointType, stageName } };
      return { resourceId: applicationId, answer };
    }),
  );
};

/** Returns an application with the address of its proxy. */
export const getApplication: Operation<"getApplication"> = async (request, { app }) => {
  const record = await app.store.read((reader) => stored.getApplication(reader, request));
  return applicationAnswer(app, record);
};

/** Deletes an empty application; its proxy no longer serves. Repeating the call fails with RESOURCE_NOT_FOUND. */
export const deleteApplication: Operation<"deleteApplication"> = async (request, { app }) => {
  const now = timestampFromMs(app.clock.now());

  const record = await app.store.transact(async (transaction) => {
    const application = await stored.getApplication(transaction, request);
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
    app.fabricReleases.release(transaction, proxyOf(application.createdByAccountId, applicationId));
    transaction.afterCommit(() => app.proxiedApplications.remove(application.apiGatewayId));
    return application;
  });

  const { applicationId, environmentId, arn, name } = applicationAnswer(app, record);
  return { applicationId, environmentId, arn, name, state: ApplicationState.DELETING, lastUpdatedTime: now };
};

/** Lists an environment's applications by id. */
export const listApplications: Operation<"listApplications"> = async (request, context) => {
  const { app } = context;
  const { environmentIdentifier: environmentId } = request;
  const page = app.pages.open(context, request, [environmentId]);
  const found = await app.store.read(async (reader) => {
    await getEnvironment(reader, environmentId);
    return stored.listApplications(reader, environmentId, page.after, page.lookFor);
  });

  const bytesOf = (record: ApplicationRecord) => toBinary(ApplicationRecordSchema, record).byteLength;
  const { items, ...next } = page.cut(found, ({ applicationId }) => applicationId, bytesOf);
  return { applicationSummaryList: items.map((record) => applicationAnswer(app, record)), ...next };
};

const proxyOf = (accountId: string, applicationId: string): FabricOwner => ({
  accountId,
  resource: { case: "applicationId", value: applicationId },
});

const created = { resourceType: "APPLICATION", response: CreateApplicationResponseSchema } as const;

const quota: Quota = {
  code: "applications-per-environment",
  resourceType: "ENVIRONMENT",
  max: limits.applicationsPerEnvironmentMax,
};

const applicationAnswer = (app: Application, record: ApplicationRecord) => {
  const { applicationId, environmentId, ownerAccountId, apiGatewayId, endpointType, stageName } = record;
  const { nlbArn, nlbName, vpcLinkId } = record;
  const proxyUrl = `${app.proxyUrl}/${apiGatewayId}/${stageName}`;
  return {
    applicationId,
    environmentId,
    arn: arnOf(app.arnPrefix, ownerAccountId, { kind: "application", environmentId, applicationId }),
    name: record.name,
    proxyType: record.proxyType,
    apiGatewayProxy: { apiGatewayId, endpointType, stageName, proxyUrl, nlbArn, nlbName, vpcLinkId },
    vpcId: record.vpcId,
    ownerAccountId,
    createdByAccountId: record.createdByAccountId,
    state: ApplicationState.ACTIVE,
    tags: record.tags,
    ...timesOf(record),
  } satisfies MessageInitShape<typeof ApplicationSummarySchema>;
};
