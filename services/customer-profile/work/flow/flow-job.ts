import { create, equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";

import type { FlowRecord, IntegrationRecord } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { FlowJobSchema, FlowRecordSchema } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { FlowDefinition } from "../../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import { SourceFlowConfigSchema, TaskSchema } from "../../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import type { Jobs } from "../../../kit/jobs/jobs.ts";
import type { Transaction } from "../../../kit/store/transaction.ts";
import { nextFlowRun } from "../../domain/flow/flow-schedule.ts";
import { idText } from "../../domain/identifier.ts";
import { findFlow, putFlow, removeFlow } from "../../store/flow.ts";
import type { IntegrationOwner } from "../../store/integration.ts";
import type { FlowPlace } from "./flow-tools.ts";

/** The kind of the jobs that carry out flows, one for each integration that is not done. */
export const flowKind = "flow";

/** The beginning of the owners of these jobs, one for each account. */
const ownerPrefix = "flows/";

/** True for the owner of jobs that carry out flows. */
export const ownsFlows = (owner: string): boolean => owner.startsWith(ownerPrefix);

/** The flow that a job carries out. */
export const placeOfJob = (payload: Uint8Array): FlowPlace => fromBinary(FlowJobSchema, payload);

const jobId = (domainId: Uint8Array, uri: string): string => `flow:${idText(domainId)}/${uri}`;

/** Enqueues the job of a flow, in the place of one that it may have. */
export const enqueueFlow = async (
  jobs: Jobs,
  transaction: Transaction,
  { domainId, uri, generation }: FlowPlace,
  account: string,
  dueMs: number,
): Promise<void> => {
  const id = jobId(domainId, uri);
  await jobs.cancel(transaction, id);
  const payload = toBinary(FlowJobSchema, create(FlowJobSchema, { domainId, uri, generation }));
  jobs.enqueue(transaction, { kind: flowKind, owner: `${ownerPrefix}${account}`, payload, dueMs, id });
};

/** Whether flows of this definition are carried out. */
export const isCarriedOut = (flow: FlowDefinition | undefined): flow is FlowDefinition =>
  flow?.sourceFlowConfig?.connectorType === "S3";

/** The integration whose flow begins. */
interface StartedFlow {
  readonly owner: IntegrationOwner;
  readonly flow: FlowDefinition;
  readonly after: IntegrationRecord;
  readonly before: IntegrationRecord | undefined;
  readonly generation: Uint8Array;
  readonly nowMs: number;
}

/**
 * Begins the flow of an integration that was put, instead of one that goes on. What was read before counts if the same
 * is read and done as before.
 */
export const startFlow = async (jobs: Jobs, transaction: Transaction, started: StartedFlow): Promise<void> => {
  const { owner, flow, after, before, generation, nowMs } = started;
  const { domainId } = owner;
  const { uri } = after;
  const earlier = isSameReading(before, after) ? await findFlow(transaction, domainId, uri) : undefined;
  const dueMs = firstDueMs(flow, nowMs);
  const record = create(FlowRecordSchema, {
    generation,
    account: owner.accountId,
    domainName: owner.domainName,
    putMs: BigInt(nowMs),
    nextMs: BigInt(dueMs ?? 0),
    ...(earlier?.last === undefined
      ? { readUntilMs: BigInt(firstReadMs(flow, nowMs)) }
      : { readUntilMs: earlier.readUntilMs, recentObjects: earlier.recentObjects, last: earlier.last }),
  });
  putFlow(transaction, domainId, uri, record);
  const place = { domainId, uri, generation };
  if (dueMs === undefined) await jobs.cancel(transaction, jobId(domainId, uri));
  else await enqueueFlow(jobs, transaction, place, owner.accountId, dueMs);
};

/** Ends the flow of an integration, if it has one. */
export const endFlow = async (
  jobs: Jobs,
  transaction: Transaction,
  domainId: Uint8Array,
  uri: string,
): Promise<void> => {
  await jobs.cancel(transaction, jobId(domainId, uri));
  removeFlow(transaction, domainId, uri);
};

const scheduleOf = (flow: FlowDefinition) => flow.triggerConfig?.triggerProperties?.scheduled;

/** Whether the runs of a flow read only what has changed since the run before. */
export const isIncremental = (flow: FlowDefinition): boolean =>
  flow.triggerConfig?.triggerType === "Event" ||
  (flow.triggerConfig?.triggerType === "Scheduled" && scheduleOf(flow)?.dataPullMode !== "Complete");

const firstDueMs = (flow: FlowDefinition, nowMs: number): number | undefined => {
  const schedule = scheduleOf(flow);
  return schedule === undefined ? nowMs : nextFlowRun(schedule, nowMs, nowMs - 1);
};

/** From when the first run reads what has changed; 0: from the beginning. */
export const firstReadMs = (flow: FlowDefinition, nowMs: number): number => {
  if (flow.triggerConfig?.triggerType === "Event") return nowMs;
  const from = scheduleOf(flow)?.firstExecutionFrom;
  return from === undefined ? 0 : Math.max(0, timestampMs(from));
};

/** When the next run of a flow is due; undefined: none is. `dueMs` and `tookMs` are those of the run that is over. */
export const nextDueMs = (
  flow: FlowDefinition,
  { putMs }: FlowRecord,
  { nowMs, tookMs, pollMs }: { readonly nowMs: number; readonly tookMs: number; readonly pollMs: number },
): number | undefined => {
  const schedule = scheduleOf(flow);
  if (schedule !== undefined) return nextFlowRun(schedule, Number(putMs), nowMs);
  // A listing that takes long is not made all the time.
  return flow.triggerConfig?.triggerType === "Event" ? nowMs + Math.max(pollMs, 10 * tookMs) : undefined;
};

const isSameReading = (before: IntegrationRecord | undefined, after: IntegrationRecord): boolean => {
  const [was, is] = [before?.flowDefinition, after.flowDefinition];
  if (was?.sourceFlowConfig === undefined || is?.sourceFlowConfig === undefined) return false;
  return (
    before?.objectTypeName === after.objectTypeName &&
    isIncremental(is) &&
    equals(SourceFlowConfigSchema, was.sourceFlowConfig, is.sourceFlowConfig) &&
    was.tasks.length === is.tasks.length &&
    was.tasks.every((task, index) => equals(TaskSchema, task, is.tasks[index] ?? create(TaskSchema)))
  );
};
