import { toBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";

import type {
  ConnectorOperator,
  FlowDefinition,
  SourceConnectorProperties,
  Task,
} from "../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import { FlowDefinitionSchema } from "../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import type { Arn } from "../../kit/arn/arn.ts";
import { arn, parseArn } from "../../kit/arn/arn.ts";
import { limits } from "../limits.ts";
import { findScheduleProblem } from "./flow/flow-schedule.ts";
import { compileTasks } from "./flow/tasks.ts";
import { TaskProblem } from "./flow/working-record.ts";

/** The members of a requested integration that its rules concern. */
export interface RequestedIntegration {
  readonly uri?: string;
  readonly objectTypeName?: string;
  readonly objectTypeNames: Readonly<Record<string, string>>;
  readonly flowDefinition?: FlowDefinition;
}

/** Why an account's integration is not valid, as a message for its author; undefined if it is. */
export const findIntegrationProblem = (requested: RequestedIntegration, accountId: string): string | undefined => {
  if (requested.objectTypeName === undefined && Object.keys(requested.objectTypeNames).length === 0)
    return "it names no object type";
  if (requested.uri === undefined && requested.flowDefinition === undefined)
    return "it has neither an address nor a flow definition";
  const flowProblem = requested.flowDefinition && findFlowProblem(requested.flowDefinition);
  if (flowProblem !== undefined) return flowProblem;
  const isRead = requested.flowDefinition?.sourceFlowConfig?.connectorType === "S3";
  if (isRead && requested.objectTypeName === undefined) return "its flow has no ObjectTypeName for what it reads";
  if (bytesOf(requested) > limits.integrationBytesMax)
    return `its flow definition and object types have more than ${limits.integrationBytesMax} bytes`;
  const instance = instanceOf(requested.uri ?? "");
  if (instance !== undefined && instance.account !== accountId)
    return "its contact center instance is of another account";
  return undefined;
};

/** The member that a connector's properties and operators are in, by its type. */
const connectors = [
  { type: "Marketo", member: "marketo" },
  { type: "S3", member: "s3" },
  { type: "Salesforce", member: "salesforce" },
  { type: "Servicenow", member: "serviceNow" },
  { type: "Zendesk", member: "zendesk" },
] as const;

/** The types of the connectors that have a member there. */
const connectorsIn = (members: SourceConnectorProperties | ConnectorOperator | undefined): readonly string[] =>
  connectors.filter(({ member }) => members?.[member] !== undefined).map(({ type }) => type);

/** Why a flow contradicts itself. */
const findFlowProblem = ({ sourceFlowConfig, tasks, triggerConfig }: FlowDefinition): string | undefined => {
  const type = sourceFlowConfig?.connectorType ?? "";
  const described = connectorsIn(sourceFlowConfig?.sourceConnectorProperties);
  if (!described.includes(type)) return `its flow reads from ${type} and has no properties of ${type}`;
  const other =
    described.find((each) => each !== type) ??
    tasks.flatMap((task) => connectorsIn(task.connectorOperator)).find((each) => each !== type);
  if (other !== undefined) return `its flow reads from ${type} and has properties or tasks of ${other}`;
  const schedule = triggerConfig?.triggerProperties?.scheduled;
  const isScheduled = triggerConfig?.triggerType === "Scheduled";
  if (isScheduled && schedule === undefined) return "its flow is Scheduled and has no schedule";
  if (!isScheduled && schedule !== undefined) return `its flow is ${triggerConfig?.triggerType} and has a schedule`;
  const { scheduleStartTime: start, scheduleEndTime: end } = schedule ?? {};
  const endsEarly = start !== undefined && end !== undefined && timestampMs(end) <= timestampMs(start);
  if (endsEarly) return "the schedule of its flow ends before it begins";
  // Flows of the other connectors are not carried out, so their texts are stored as they are.
  if (type !== "S3") return undefined;
  return (schedule && findScheduleProblem(schedule)) ?? findTasksProblem(tasks);
};

const findTasksProblem = (tasks: readonly Task[]): string | undefined => {
  try {
    compileTasks(tasks);
    return undefined;
  } catch (error) {
    if (error instanceof TaskProblem) return `its flow cannot be carried out: ${error.message}`;
    throw error;
  }
};

const bytesOf = ({ objectTypeNames, flowDefinition }: RequestedIntegration): number => {
  const flowBytes = flowDefinition === undefined ? 0 : toBinary(FlowDefinitionSchema, flowDefinition).byteLength;
  return Object.entries(objectTypeNames).reduce((sum, [event, name]) => sum + event.length + name.length, flowBytes);
};

/** The contact center instance that an address names, as `arn:<partition>:connect:<region>:<account>:instance/<id>`. */
const instanceOf = (uri: string): Arn | undefined => {
  const parsed = parseArn(uri);
  return parsed?.service === "connect" && /^instance\/[^/]+$/.test(parsed.resource) ? parsed : undefined;
};

/** The partitions of the two dialects, which name the same resources. */
const dialectPartitions = ["aws", "svc"];

/** All addresses of the contact center instance that an address names; empty if it names something else. */
export const instanceAddresses = (uri: string): readonly string[] => {
  const instance = instanceOf(uri);
  if (instance === undefined) return [];
  if (!dialectPartitions.includes(instance.partition)) return [uri];
  return dialectPartitions.map((partition) => arn({ ...instance, partition }));
};

/** The names of all object types that an integration imports, each once. */
export const objectTypesOf = (requested: RequestedIntegration): ReadonlySet<string> => {
  const names = new Set(Object.values(requested.objectTypeNames));
  return requested.objectTypeName === undefined ? names : names.add(requested.objectTypeName);
};

/** The address of an integration that names none: domain, connector, object type and the instant in milliseconds. */
export const generatedUri = (domainName: string, requested: RequestedIntegration, nowMs: number): string =>
  [
    domainName,
    requested.flowDefinition?.sourceFlowConfig?.connectorType ?? "",
    requested.objectTypeName ?? "events",
    String(nowMs),
  ].join("_");
