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
