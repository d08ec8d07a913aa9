import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type {
  ApplicationRecord,
  RouteRecord,
  ServiceRecord,
} from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { FunctionPermissionPayloadSchema } from "../../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { arn } from "../../kit/arn/arn.ts";
import type { Job, JobContext, JobOutcome, JobPolicy, NewJob } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import type { Transaction } from "../../kit/store/transaction.ts";
import type { FunctionApi, FunctionPermission } from "../proxy/function-api.ts";
import { jobOwner } from "./job-pools.ts";

/** The kind of the jobs that remove statements from policies of functions. */
export const functionPermissionKind = "function-permission";

/** A statement is removed within a week, or is left to whoever owns the function. */
export const functionPermissionPolicy: JobPolicy = {
  attemptsMax: Number.POSITIVE_INFINITY,
  ageMsMax: 7 * 24 * 60 * 60 * 1000,
  backoff: exponentialBackoff({ firstMs: 1_000, maxMs: 60 * 60 * 1000 }),
};

/** The dependencies of `FunctionPermissions`. */
export interface FunctionPermissionsSettings {
  readonly functions: Pick<FunctionApi, "revoke">;
  /** Partition and region of the gateways' ARNs. */
  readonly prefix: { readonly partition: string; readonly region: string };
  /** Adds a job when the transaction commits. */
  readonly enqueue: (transaction: Transaction, job: NewJob) => void;
}

/**
 * The statements in policies of functions that let the gateways of applications invoke them: one for each route to a
 * function. A route's check adds it before the route first becomes active; a job removes it after the route is deleted.
 */
export class FunctionPermissions {
  readonly #settings: FunctionPermissionsSettings;

  constructor(settings: FunctionPermissionsSettings) {
    this.#settings = settings;
  }

  /** The statement that a route needs; undefined if its service is no function. */
  permissionOf(
    { routeId }: RouteRecord,
    { endpoint }: ServiceRecord,
    { ownerAccountId: account, apiGatewayId, stageName }: ApplicationRecord,
  ): FunctionPermission | undefined {
    if (endpoint.case !== "functionEndpoint") return undefined;
    const resource = `${apiGatewayId}/${stageName}/*`;
    return {
      functionArn: endpoint.value.arn,
      statementId: statementIdOf(routeId),
      sourceArn: arn({ ...this.#settings.prefix, service: "execute-api", account, resource }),
    };
  }

  /** Removes a route's statement after the transaction, which must delete the route. */
  release(transaction: Transaction, { routeId, ownerAccountId }: RouteRecord, { endpoint }: ServiceRecord): void {
    if (endpoint.case !== "functionEndpoint") return;
    const payload = { functionArn: endpoint.value.arn, statementId: statementIdOf(routeId) };
    this.#settings.enqueue(transaction, {
      id: `${functionPermissionKind} ${routeId}`,
      kind: functionPermissionKind,
      owner: jobOwner("permissions", ownerAccountId),
      payload: toBinary(FunctionPermissionPayloadSchema, create(FunctionPermissionPayloadSchema, payload)),
    });
  }

  /** Runs one job. */
  readonly run = async (job: Job, { signal }: Pick<JobContext, "signal">): Promise<JobOutcome> => {
    const outcome = await this.#settings.functions.revoke(
      fromBinary(FunctionPermissionPayloadSchema, job.payload),
      signal,
    );
    return outcome.isSet ? { done: true } : { retry: true, reason: outcome.problem };
  };
}

const statementIdOf = (routeId: string): string => `workspace-${routeId}`;
