/**
 * Environments. The guard has checked that a named environment is not another account's. CreateEnvironment refuses, in
 * this order: (1) a reserved name, (2) reserved tag keys, (3) a client token of another request, (4) one environment
 * more than an account may have. The others refuse an environment that does not exist; DeleteEnvironment then refuses
 * one that holds applications.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, toBinary } from "@bufbuild/protobuf";
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
import { ErrorCode, ErrorResourceType } from "../../../gen/quartet/refactoringworkspace/v1/resource_error_pb.ts";
import { findOrDamaged, undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { Reader } from "../../kit/store/transaction.ts";
import type { Application, Operation } from "../application.ts";
import type { Quota } from "../domain/quota.ts";
import { refuseOverQuota } from "../domain/quota.ts";
import { arnOf, refuseReservedName } from "../domain/resource-name.ts";
import { timesOf } from "../domain/resource-times.ts";
import { refuseReservedTagKeys } from "../domain/tag-rules.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { listApplications } from "../store/application.ts";
import { idempotently } from "../store/client-token.ts";
import * as stored from "../store/environment.ts";
import { findPolicy } from "../store/resource-policy.ts";
import type { FabricOwner } from "../work/fabric-release.ts";

/**
 * Creates an environment, which is ready when this returns. Repeating the call with its client token changes nothing.
 */
export const createEnvironment: Operation<"createEnvironment"> = async (request, { app, access, method }) => {
  const { accountId } = access;
  refuseReservedName(request.name, "env-");
  refuseReservedTagKeys(request.tags);
  const environmentId = `env-${app.ids.token(10)}`;
  const gateway =
    request.networkFabricType === NetworkFabricType.TRANSIT_GATEWAY
      ? await app.fabricReleases.provision(gatewayOf(accountId, environmentId), () =>
          app.fabric.createTransitGateway(accountId, environmentId),
        )
      : undefined;
  const nowMs = app.clock.now();
  const record = create(EnvironmentRecordSchema, {
    environmentId,
    ownerAccountId: accountId,
    name: request.name,
    description: request.description,
    networkFabricType: request.networkFabricType,
    transitGatewayId: gateway?.value,
    tags: request.tags,
    createdMs: BigInt(nowMs),
    lastUpdatedMs: BigInt(nowMs),
  });

  return app.store.transact((transaction) =>
    idempotently(transaction, { accountId, method, nowMs }, request, created, async () => {
      const others = await stored.listOwnedIds(transaction, accountId, undefined, quota.max);
      refuseOverQuota(others.length, quota, accountId);
      stored.createEnvironment(transaction, record);
      await gateway?.keep(transaction);
      const { transitGatewayId: _notInAnswer, ...answer } = environmentAnswer(app, record);
      return { resourceId: environmentId, answer };
    }),
  );
};

/** Returns an environment. */
export const getEnvironment: Operation<"getEnvironment"> = async (request, { app }) => {
  const record = await app.store.read((reader) => stored.getEnvironment(reader, request.environmentIdentifier));
  return environmentAnswer(app, record);
};

/** Deletes an empty environment. Repeating the call fails with RESOURCE_NOT_FOUND. */
export const deleteEnvironment: Operation<"deleteEnvironment"> = async (request, { app }) => {
  const now = timestampFromMs(app.clock.now());

  const record = await app.store.transact(async (transaction) => {
    const environment = await stored.getEnvironment(transaction, request.environmentIdentifier);
    const [held] = await listApplications(transaction, environment.environmentId, undefined, 1);
    if (held !== undefined)
      throw fault(ErrorReason.RESOURCE_IN_USE, {
        resource_type: "ENVIRONMENT",
        resource_id: environment.environmentId,
        used_by: `the application ${held.applicationId}`,
      });
    await stored.deleteEnvironment(transaction, environment);
    if (environment.transitGatewayId !== undefined)
      app.fabricReleases.release(transaction, gatewayOf(environment.ownerAccountId, environment.environmentId));
    return environment;
  });

  const { environmentId, arn, name } = environmentAnswer(app, record);
  return { environmentId, arn, name, state: EnvironmentState.DELETING, lastUpdatedTime: now };
};

/**
 * Lists by id the environments of the caller's account and those that are shared with the caller. One whose record is
 * damaged is listed as failed for its owner, and for nobody else; one whose policy is damaged is shared with nobody.
 */
export const listEnvironments: Operation<"listEnvironments"> = async (request, context) => {
  const { app, access } = context;
  const page = app.pages.open(context, request);
  const found = await app.store.read(async (reader) => {
    const ids = await stored.listNamedIds(reader, access.accountId, page.after, page.lookFor);
    return Promise.all(ids.map((id) => readListed(reader, access.accountId, id)));
  });

  const bytesOf = ({ record }: Listed) => toBinary(EnvironmentRecordSchema, record).byteLength;
  const { items, ...next } = page.cut(found, ({ record }) => record.environmentId, bytesOf);
  const visible = items.filter(({ record, policy }) => record.ownerAccountId !== "" && access.mayList(record, policy));
  const answers = visible.map(({ record, isDamaged }) =>
    isDamaged ? damagedAnswer(app, record) : environmentAnswer(app, record),
  );
  return { environmentSummaryList: answers, ...next };
};

/** An environment of a listing. One that is damaged has only its id, and its owner if that is the account that asks. */
interface Listed {
  readonly record: EnvironmentRecord;
  readonly isDamaged: boolean;
  readonly policy: string | undefined;
}

const readListed = async (reader: Reader, accountId: string, environmentId: string): Promise<Listed> => {
  const record = await findOrDamaged(stored.getEnvironment(reader, environmentId));
  const policy = await findPolicy(reader, environmentId).catch(undefinedIfDamaged);
  if (record !== "damaged") return { record, isDamaged: false, policy };
  const ownerAccountId = (await stored.isOwnedBy(reader, accountId, environmentId)) ? accountId : "";
  return { record: create(EnvironmentRecordSchema, { environmentId, ownerAccountId }), isDamaged: true, policy };
};

const damagedAnswer = (app: Application, { environmentId, ownerAccountId }: EnvironmentRecord) =>
  ({
    environmentId,
    arn: arnOf(app.arnPrefix, ownerAccountId, { kind: "environment", environmentId }),
    ownerAccountId,
    state: EnvironmentState.FAILED,
    error: {
      code: ErrorCode.RESOURCE_RETRIEVAL_FAILURE,
      resourceType: ErrorResourceType.ENVIRONMENT,
      resourceIdentifier: environmentId,
      message: "The stored record of this environment is damaged.",
      accountId: ownerAccountId,
    },
  }) satisfies MessageInitShape<typeof EnvironmentSummarySchema>;

/** Lists the VPCs of an environment's services by id. */
export const listEnvironmentVpcs: Operation<"listEnvironmentVpcs"> = async (request, context) => {
  const { app } = context;
  const { environmentIdentifier: environmentId } = request;
  const page = app.pages.open(context, request, [environmentId]);
  const { owner, found } = await app.store.read(async (reader) => ({
    owner: (await stored.getEnvironment(reader, environmentId)).ownerAccountId,
    found: await stored.listVpcs(reader, environmentId, page.after, page.lookFor),
  }));

  const bytesOf = ({ value }: (typeof found)[number]) => toBinary(EnvironmentVpcRecordSchema, value).byteLength;
  const { items, ...next } = page.cut(found, ({ key }) => key[1], bytesOf);
  const environmentVpcList = items.map(({ key, value }) => ({
    environmentId,
    vpcId: key[1],
    vpcName: value.vpcName,
    accountId: owner,
    cidrBlocks: value.cidrBlocks,
    ...timesOf(value),
  }));
  return { environmentVpcList, ...next };
};

const gatewayOf = (accountId: string, environmentId: string): FabricOwner => ({
  accountId,
  resource: { case: "environmentId", value: environmentId },
});

const created = { resourceType: "ENVIRONMENT", response: CreateEnvironmentResponseSchema } as const;

const quota: Quota = {
  code: "environments-per-account",
  resourceType: "ACCOUNT",
  max: limits.environmentsPerAccountMax,
};

const environmentAnswer = (app: Application, record: EnvironmentRecord) => {
  const { environmentId, ownerAccountId, name, description, networkFabricType, transitGatewayId } = record;
  return {
    environmentId,
    arn: arnOf(app.arnPrefix, ownerAccountId, { kind: "environment", environmentId }),
    name,
    description,
    networkFabricType,
    ownerAccountId,
    transitGatewayId,
    state: EnvironmentState.ACTIVE,
    tags: record.tags,
    ...timesOf(record),
  } satisfies MessageInitShape<typeof EnvironmentSummarySchema>;
};
