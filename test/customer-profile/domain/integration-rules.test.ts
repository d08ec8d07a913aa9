import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";

import { FlowDefinitionSchema } from "../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import { findIntegrationProblem } from "../../../services/customer-profile/domain/integration-rules.ts";

const s3 = { bucketName: "inbox" };
const task = { taskType: "Map", sourceFields: ["a"] };
const scheduled = { scheduleExpression: "rate(1 hour)" };
const [early, late] = [timestampFromMs(1_000), timestampFromMs(2_000)];

test.each<[string, object, string | undefined]>([
  // what it is, changes of a valid flow, its problem
  ["reads from a bucket on demand", {}, undefined],
  ["has a task of its connector", { tasks: [{ ...task, connectorOperator: { s3: "NO_OP" } }] }, undefined],
  ["has a task without an operator", { tasks: [task] }, undefined],
  [
    "has properties of another connector only",
    { sourceFlowConfig: { connectorType: "Zendesk", sourceConnectorProperties: { s3 } } },
    "its flow reads from Zendesk and has no properties of Zendesk",
  ],
  [
    "has properties of two connectors",
    { sourceFlowConfig: { connectorType: "S3", sourceConnectorProperties: { s3, serviceNow: { object: "user" } } } },
    "its flow reads from S3 and has properties or tasks of Servicenow",
  ],
  [
    "has a task of another connector",
    { tasks: [task, { ...task, connectorOperator: { marketo: "NO_OP" } }] },
    "its flow reads from S3 and has properties or tasks of Marketo",
  ],
  ["is scheduled", { triggerConfig: { triggerType: "Scheduled", triggerProperties: { scheduled } } }, undefined],
  [
    "is scheduled, and not when",
    { triggerConfig: { triggerType: "Scheduled" } },
    "its flow is Scheduled and has no schedule",
  ],
  [
    "is not scheduled, but when",
    { triggerConfig: { triggerType: "Event", triggerProperties: { scheduled } } },
    "its flow is Event and has a schedule",
  ],
  [
    "is scheduled for a while",
    {
      triggerConfig: {
        triggerType: "Scheduled",
        triggerProperties: { scheduled: { ...scheduled, scheduleStartTime: early, scheduleEndTime: late } },
      },
    },
    undefined,
  ],
  [
    "is scheduled for no time",
    {
      triggerConfig: {
        triggerType: "Scheduled",
        triggerProperties: { scheduled: { ...scheduled, scheduleStartTime: late, scheduleEndTime: late } },
      },
    },
    "the schedule of its flow ends before it begins",
  ],
  [
    "runs at no time that is known",
    { triggerConfig: { triggerType: "Scheduled", triggerProperties: { scheduled: { scheduleExpression: "daily" } } } },
    "the ScheduleExpression of its flow is neither rate(<count> minutes, hours or days) nor cron(<six fields>)",
  ],
  ...(
    [
      [
        "a task of another kind",
        { taskType: "Mask", connectorOperator: { s3: "BETWEEN" } },
        "a Mask task has the operator BETWEEN",
      ],
      [
        "a filter without a value",
        { taskType: "Filter", connectorOperator: { s3: "EQUAL_TO" } },
        "a Filter task with EQUAL_TO has no VALUE",
      ],
      [
        "a filter without bounds",
        { taskType: "Filter", connectorOperator: { s3: "BETWEEN" } },
        "a Filter task with BETWEEN has no LOWER_BOUND and UPPER_BOUND",
      ],
      [
        "a filter of two fields",
        { taskType: "Filter", connectorOperator: { s3: "EQUAL_TO" }, sourceFields: ["a", "b"] },
        "a Filter task compares one source field",
      ],
      [
        "a check of nothing",
        { taskType: "Validate", connectorOperator: { s3: "VALIDATE_NUMERIC" }, sourceFields: [] },
        "a Validate task has no source field",
      ],
      ["a check without an operator", { taskType: "Validate" }, "a Validate task has the operator of no name"],
      [
        "a check with another action",
        {
          taskType: "Validate",
          connectorOperator: { s3: "VALIDATE_NUMERIC" },
          taskProperties: { VALIDATION_ACTION: "Ask" },
        },
        "the VALIDATION_ACTION of a Validate task is neither DropRecord nor TerminateFlow",
      ],
      [
        "a map of two fields to one",
        { sourceFields: ["a", "b"], destinationField: "c" },
        "a Map task has one source field for its destination",
      ],
      ["a map of nothing", { sourceFields: [] }, "a Map task has one source field for its destination"],
      ["a map that computes", { connectorOperator: { s3: "ADDITION" } }, "a Map task has the operator ADDITION"],
      ["a merge without a format", { taskType: "Merge", destinationField: "c" }, "a Merge task has no CONCAT_FORMAT"],
      [
        "a merge into nothing",
        { taskType: "Merge", taskProperties: { CONCAT_FORMAT: "x" } },
        "a Merge task has no destination field",
      ],
      [
        "a mask without a length",
        { taskType: "Mask", connectorOperator: { s3: "MASK_LAST_N" } },
        "a Mask task has no MASK_LENGTH",
      ],
      [
        "a truncation without a length",
        { taskType: "Truncate", taskProperties: { TRUNCATE_LENGTH: "-1" } },
        "a Truncate task has no TRUNCATE_LENGTH",
      ],
      [
        "a sum of one",
        { taskType: "Arithmetic", connectorOperator: { s3: "ADDITION" }, destinationField: "c" },
        "an Arithmetic task has one operand",
      ],
      [
        "a sum with a text",
        {
          taskType: "Arithmetic",
          connectorOperator: { s3: "ADDITION" },
          destinationField: "c",
          taskProperties: { VALUE: "x" },
        },
        "the VALUE of an Arithmetic task is no number",
      ],
      [
        "a sum into nothing",
        { taskType: "Arithmetic", connectorOperator: { s3: "ADDITION" } },
        "an Arithmetic task has no destination field",
      ],
    ] as const
  ).map(([what, changes, problem]): [string, object, string] => [
    `has ${what}`,
    { tasks: [{ ...task, ...changes }] },
    `its flow cannot be carried out: ${problem}`,
  ]),
  [
    "has such a task of a connector that is not carried out",
    {
      sourceFlowConfig: { connectorType: "Zendesk", sourceConnectorProperties: { zendesk: { object: "users" } } },
      tasks: [{ ...task, taskType: "Merge" }],
    },
    undefined,
  ],
])("a flow that %s", (_what, changes, problem) => {
  const valid = {
    flowName: "flow",
    sourceFlowConfig: { connectorType: "S3", sourceConnectorProperties: { s3 } },
    tasks: [task],
    triggerConfig: { triggerType: "OnDemand" },
  };
  const flow: MessageInitShape<typeof FlowDefinitionSchema> = { ...valid, ...changes };
  const flowDefinition = create(FlowDefinitionSchema, flow);
  const requested = { objectTypeName: "CTR", objectTypeNames: {}, flowDefinition };
  expect(findIntegrationProblem(requested, "000000000000")).toBe(problem);
});
