/**
 * Environments. Creating refuses a reserved name, reserved tag keys, a client token of another request and one
 * environment too many; the others refuse an environment that is not there, then one of another account. Deleting
 * refuses an environment that holds applications.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { EnvironmentRecord } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import {
  EnvironmentRecordSchema,
  EnvironmentVpcRecordSchema,
} from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import type { EnvironmentSummarySchema } from "../../../gen/quartet/refactoringworkspace/v1/environment_pb.ts";
import { EnvironmentState, NetworkFabricType } from "../../../gen/quartet/refactoringworkspace/v1/environment_pb.ts";
import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { CreateEnvironmentResponseSchema } from "../../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import type { Application, Operation } from "../application.ts";
import { arnOf } from "../application.ts";
import { ownEnvironment } from "../access/guard.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { listApplications } from "../store/application.ts";
import * as stored from "../store/environment.ts";
import { refuseOverQuota, refuseReservedName, refuseReservedTagKeys } from "./checks.ts";
import { onceByToken } from "./client-token.ts";
import { cutPage, pageOf } from "./page.ts";

/** Makes an environment; it is ready when this answers. */
export const createEnvironment: Operation<"createEnvironment"> = async (request, context) => {
  const { app, caller } = context;
  refuseReservedName(request.name, "env-");
  refuseReservedTagKeys(request.tags);
  const now = timestampFromMs(app.clock.now());
  const hasGateway = request.networkFabricType === NetworkFabricType.TRANSIT_GATEWAY;
  const record = create(EnvironmentRecordSchema, {
    environmentId: `env-${app.ids.token(10)}`,
    ownerAccountId: caller.accountId,
    name: request.name,
    description: request.description,
    networkFabricType: request.networkFabricType,
    transitGatewayId: hasGateway ? await app.fabric.createTransitGateway(caller.accountId) : undefined,
    tags: request.tags,
    createdTime: now,
    lastUpdatedTime: now,
  });

  return app.store.transact((transaction) =>
    onceByToken(transaction, context, request, created, async () => {
      const others = await stored.listOwnedIds(transaction, caller.accountId, undefined, quota.max);
      refuseOverQuota(others.length, { ...quota, resourceId: caller.accountId });
      stored.createEnvironment(transaction, record);
      const { transitGatewayId: _unasked, ...answer } = environmentAnswer(app, record);
      return { resourceId: record.environmentId, answer };
    }),
  );
};

/** Tells an environment. */
export const getEnvironment: Operation<"getEnvironment"> = async (request, context) => {
  const record = await context.app.store.read((reader) =>
    ownEnvironment(reader, context, request.environmentIdentifier),
  );
  return environmentAnswer(context.app, record);
};

/** Deletes an empty environment. A second call is refused, because the environment is not there any more. */
export const deleteEnvironment: Operation<"deleteEnvironment"> = async (request, context) => {
  const { app } = context;
  const now = timestampFromMs(app.clock.now());

  const record = await app.store.transact(async (transaction) => {
    const environment = await ownEnvironment(transaction, context, request.environmentIdentifier);
    const [held] = await listApplications(transaction, environment.environmentId, undefined, 1);
    if (held !== undefined)
      throw fault(ErrorReason.RESOURCE_IN_USE, {
        resource_type: "ENVIRONMENT",
        resource_id: environment.environmentId,
        used_by: `the application ${held.applicationId}`,
      });
    stored.deleteEnvironment(transaction, environment);
    return environment;
  });

  if (record.transitGatewayId !== undefined)
    await app.fabric.deleteTransitGateway(record.ownerAccountId, record.transitGatewayId);
  const { environmentId, arn, name } = environmentAnswer(app, record);
  return { environmentId, arn, name, state: EnvironmentState.DELETING, lastUpdatedTime: now };
};

/** Lists the caller's environments by id. */
export const listEnvironments: Operation<"listEnvironments"> = async (request, context) => {
  const { app, caller } = context;
  const page = pageOf(context, [], request);
  const found = await app.store.read(async (reader) => {
    const ids = await stored.listOwnedIds(reader, caller.accountId, page.after, page.itemsMax + 1);
    return Promise.all(ids.map((id) => ownEnvironment(reader, context, id)));
  });

  const { shown, ...next } = cutPage(page, found, EnvironmentRecordSchema, (record) => record.environmentId);
  return { environmentSummaryList: shown.map((record) => environmentAnswer(app, record)), ...next };
};

/** Lists the VPCs of an environment's services by id. */
export const listEnvironmentVpcs: Operation<"listEnvironmentVpcs"> = async (request, context) => {
  const { app } = context;
  const { environmentIdentifier: environmentId } = request;
  const page = pageOf(context, [environmentId], request);
  const { owner, found } = await app.store.read(async (reader) => ({
    owner: (await ownEnvironment(reader, context, environmentId)).ownerAccountId,
    found: await stored.listVpcs(reader, environmentId, page.after, page.itemsMax + 1),
  }));

  const idOf = new Map(found.map(({ key, value }) => [value, key[1]]));
  const records = found.map(({ value }) => value);
  const { shown, ...next } = cutPage(page, records, EnvironmentVpcRecordSchema, (record) => idOf.get(record) ?? "");
  const environmentVpcList = shown.map((record) => ({
    environmentId,
    vpcId: idOf.get(record) ?? "",
    vpcName: record.vpcName,
    accountId: owner,
    cidrBlocks: record.cidrBlocks,
    createdTime: record.createdTime,
    lastUpdatedTime: record.lastUpdatedTime,
  }));
  return { environmentVpcList, ...next };
};

const created = { resourceType: "ENVIRONMENT", response: CreateEnvironmentResponseSchema } as const;

const quota = {
  code: "environments-per-account",
  resourceType: "ACCOUNT",
  max: limits.environmentsPerAccountMax,
} as const;

const environmentAnswer = (app: Application, record: EnvironmentRecord) => {
  const { environmentId, ownerAccountId, name, description, networkFabricType, transitGatewayId } = record;
  return {
    environmentId,
    arn: arnOf(app, ownerAccountId, { kind: "environment", environmentId }),
    name,
    description,
    networkFabricType,
    ownerAccountId,
    transitGatewayId,
    state: EnvironmentState.ACTIVE,
    tags: record.tags,
    createdTime: record.createdTime,
    lastUpdatedTime: record.lastUpdatedTime,
  } satisfies MessageInitShape<typeof EnvironmentSummarySchema>;
};
