import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import {
  PutTargetsRequestSchema,
  RemoveTargetsRequestSchema,
} from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { revisionOf } from "../../../services/event-bus/access/revision.ts";
import type { OperationContext } from "../../../services/event-bus/application.ts";
import { putTargets, removeTargets } from "../../../services/event-bus/operations/target.ts";
import { StoreContentionError } from "../../../services/kit/store/errors.ts";

import type { TargetSchema } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import { refusalOf, startHarness } from "../harness.ts";

type TargetInit = MessageInitShape<typeof TargetSchema>;

const queue = "arn:aws:sqs:us-east-1:000000000000:q";
const pattern = '{"source":["shop"]}';

/** Targets of these ids, all the same queue. */
const queueTargets = (ids: string[]): TargetInit[] => ids.map((id) => ({ id, arn: queue }));

describe("putTargets", () => {
  test("adds targets and replaces those of the same id, all members kept", async () => {
    const { client } = await startHarness();
    await client.putRule({ name: "all", eventPattern: pattern });
    const answer = await client.putTargets({
      rule: "all",
      targets: [
        { id: "b", arn: queue },
        { id: "a", arn: queue, input: "{}", retryPolicy: { maximumRetryAttempts: 0 } },
      ],
    });
    expect([answer.failedEntryCount, answer.failedEntries]).toEqual([0, []]);
    await client.putTargets({ rule: "all", targets: [{ id: "b", arn: queue, inputPath: "$.detail" }] });
    const { targets } = await client.listTargetsByRule({ rule: "all" });
    expect(
      targets.map(({ id, input, inputPath, retryPolicy }) => [id, input, inputPath, retryPolicy?.maximumRetryAttempts]),
    ).toEqual([
      ["a", "{}", undefined, 0],
      ["b", undefined, "$.detail", undefined],
    ]);
  });

  const transformer = (inputTemplate: string, inputPathsMap: Record<string, string> = {}): TargetInit => ({
    id: "t",
    arn: queue,
    inputTransformer: { inputTemplate, inputPathsMap },
  });

  // targets | refusal
  test.each<[TargetInit[], string]>([
    [
      [
        { id: "t", arn: queue },
        { id: "t", arn: "x" },
      ],
      "DUPLICATE_ENTRY: Duplicate target id t.",
    ],
    [
      [{ id: "t", arn: "queue", input: "x" }],
      "TARGET_ARN_MALFORMED: Parameter queue is not valid. Reason: Provided Arn is not in correct format.",
    ],
    [
      [{ id: "t", arn: "arn:aws:events:us-east-1:000000000000:target/create-snapshot", input: "x" }],
      "PARAMETER_REFUSED: Parameter t is not valid. Reason: arn:aws:events:us-east-1:000000000000:target/create-snapshot is an action that only the public console can take.",
    ],
    [
      [{ id: "t", arn: queue, input: "x", inputPath: "$" }],
      "TARGET_INPUT_AMBIGUOUS: Only one of Input, InputPath, or InputTransformer must be provided for target t.",
    ],
    [
      [{ id: "t", arn: "arn:aws:events:us-east-1:111111111111:event-bus/b", input: "{}" }],
      "PARAMETER_REFUSED: Parameter t is not valid. Reason: Input, InputPath and InputTransformer are not available when the target is a bus of another account.",
    ],
    [[{ id: "t", arn: queue, input: "x" }], "TARGET_INPUT_NOT_JSON: JSON syntax error in input for target t"],
    [
      [transformer('{"a":<b>}', { awsName: "$.id" })],
      "TARGET_PLACEHOLDER_RESERVED: InputPathsMap for target t contains a key that starts with AWS.",
    ],
    [
      [transformer('{"a":<b>}', { c: "$.id" })],
      "TARGET_PLACEHOLDER_UNKNOWN: InputTemplate for target t contains invalid placeholder b.",
    ],
    [
      [{ id: "t", arn: `${queue}.fifo` }],
      "TARGET_MESSAGE_GROUP_MISSING: Parameter(s) SqsParameters must be specified for target: t.",
    ],
    ...[
      ["ecs:us-east-1:000000000000:cluster/shop", "EcsParameters"],
      ["batch:us-east-1:000000000000:job-queue/night", "BatchParameters"],
      ["ssm:us-east-1::document/AWS-RunShellScript", "RunCommandParameters"],
      ["redshift:us-east-1:000000000000:cluster:books", "RedshiftDataParameters"],
      ["redshift-serverless:us-east-1:000000000000:workgroup/books", "RedshiftDataParameters"],
    ].map(([rest, parameters]): [{ id: string; arn: string }[], string] => [
      [{ id: "t", arn: `arn:aws:${rest}` }],
      `PARAMETER_REFUSED: Parameter ${parameters} is not valid. Reason: ${parameters} is required for target t.`,
    ]),
    ...["broker/", "broker/b/queue", "broker/b/inbox/a", "broker/b/subject/a.*", "broker/b/table/a.b.c"].map(
      (resource): [{ id: string; arn: string }[], string] => [
        [{ id: "t", arn: `arn:aws:events:us-east-1:000000000000:${resource}` }],
        `PARAMETER_REFUSED: Parameter t is not valid. Reason: arn:aws:events:us-east-1:000000000000:${resource} does not name a subject, queue, exchange, stream, channel, table, topic or webhook.`,
      ],
    ),
    ...["sqs:us-east-1:000000000000:q", "events:us-east-1:000000000000:broker/b/table/sales"].map(
      (rest): [{ id: string; arn: string; cloudEventParameters: { contentMode: string } }[], string] => [
        [{ id: "t", arn: `arn:aws:${rest}`, cloudEventParameters: { contentMode: "BINARY" } }],
        `PARAMETER_REFUSED: Parameter t is not valid. Reason: arn:aws:${rest} has no headers for the binary mode of CloudEvents.`,
      ],
    ),
    [[{ id: "t", arn: "arn:aws:events:us-east-1:000000000000:broker/b/exchange/shop/" }], "answered"],
    [[transformer('{"a":<b>,"e":<aws.events.event.json>}', { b: "$.detail" })], "answered"],
    [[{ id: "t", arn: `${queue}.fifo`, sqsParameters: { messageGroupId: "g" } }], "answered"],
    ...[
      "codebuild:us-east-1:000000000000:project/site",
      "firehose:us-east-1:000000000000:deliverystream/sales",
      "sagemaker:us-east-1:000000000000:pipeline/train",
      "ssm:us-east-1:000000000000:automation-definition/Restart:2",
    ].map((rest): [{ id: string; arn: string }[], string] => [[{ id: "t", arn: `arn:aws:${rest}` }], "answered"]),
  ])("a request with the targets $0 ends as $1", async (targets, refusal) => {
    const { client } = await startHarness({ works: false });
    await client.putRule({ name: "all", eventPattern: pattern });
    expect(await refusalOf(client.putTargets({ rule: "all", targets }))).toBe(refusal);
  });

  test("refuses a bus, a rule that is not there, then a sixth target, and changes nothing", async () => {
    const { client } = await startHarness();
    await client.putRule({ name: "all", eventPattern: pattern });
    expect(
      await refusalOf(client.putTargets({ rule: "gone", eventBusName: "gone", targets: queueTargets(["1"]) })),
    ).toBe("EVENT_BUS_NOT_FOUND: Event bus gone does not exist.");
    expect(await refusalOf(client.putTargets({ rule: "gone", targets: queueTargets(["1"]) }))).toBe(
      "RULE_NOT_FOUND: Rule gone does not exist on EventBus default.",
    );
    await client.putTargets({ rule: "all", targets: queueTargets(["1", "2", "3", "4"]) });
    expect(await refusalOf(client.putTargets({ rule: "all", targets: queueTargets(["4", "5", "6"]) }))).toBe(
      "LIMIT_EXCEEDED",
    );
    expect((await client.listTargetsByRule({ rule: "all" })).targets.map((target) => target.id)).toEqual([
      "1",
      "2",
      "3",
      "4",
    ]);
    await client.putTargets({ rule: "all", targets: queueTargets(["4", "5"]) });
  });
});

describe("a target whose kind is reached in the name of a role", () => {
  test.each([
    "kinesis:us-east-1:000000000000:stream/s",
    "states:us-east-1:000000000000:stateMachine:s",
    "execute-api:us-east-1:000000000000:a/b/GET/c",
    "ec2:us-east-1:000000000000:instance/i",
  ])("is refused without one: %s", async (resource) => {
    const { client } = await startHarness();
    await client.putRule({ name: "all", eventPattern: pattern });
    const target = { id: "t", arn: `arn:aws:${resource}` };
    expect(await refusalOf(client.putTargets({ rule: "all", targets: [target] }))).toBe(
      "PARAMETER_REFUSED: Parameter RoleArn is not valid. Reason: RoleArn is required for target t.",
    );
    const roleArn = "arn:aws:iam::000000000000:role/r";
    await client.putTargets({ rule: "all", targets: [{ ...target, roleArn }] });
    const { targets } = await client.listTargetsByRule({ rule: "all" });
    expect(targets.map((each) => each.roleArn)).toEqual([roleArn]);
  });
});

describe("targets that concurrent changes keep from being changed", () => {
  test("are counted and listed with an error, each of a call", async () => {
    const { app } = await startHarness();
    const contended = {
      ...app,
      store: { ...app.store, transact: () => Promise.reject(new StoreContentionError(16)) },
    };
    const context = {
      app: contended,
      access: { bus: { account: "000000000000", name: "default" }, revision: revisionOf(new Headers()) },
    } as unknown as OperationContext;
    const failed = (targetId: string) => ({
      targetId,
      errorCode: "ConcurrentModificationException",
      errorMessage: "There is concurrent modification on the rule. Try again.",
    });
    const put = create(PutTargetsRequestSchema, { rule: "all", targets: queueTargets(["a", "b"]) });
    expect(await putTargets(put, context)).toEqual({ failedEntryCount: 2, failedEntries: [failed("a"), failed("b")] });
    const removed = create(RemoveTargetsRequestSchema, { rule: "all", ids: ["a"] });
    expect(await removeTargets(removed, context)).toEqual({ failedEntryCount: 1, failedEntries: [failed("a")] });
  });
});

describe("listTargetsByRule", () => {
  test("pages by id", async () => {
    const { client } = await startHarness();
    await client.putRule({ name: "all", eventPattern: pattern });
    await client.putTargets({ rule: "all", targets: ["c", "a", "b"].map((id) => ({ id, arn: queue })) });
    const first = await client.listTargetsByRule({ rule: "all", limit: 2 });
    const second = await client.listTargetsByRule({ rule: "all", limit: 2, nextToken: first.nextToken });
    expect([first, second].map((page) => page.targets.map((target) => target.id))).toEqual([["a", "b"], ["c"]]);
    expect(await refusalOf(client.listTargetsByRule({ rule: "gone" }))).toBe(
      "RULE_NOT_FOUND: Rule gone does not exist on EventBus default.",
    );
  });
});

describe("listRuleNamesByTarget", () => {
  test("lists each rule of a bus that has the target once, by name, in pages", async () => {
    const { client } = await startHarness({ works: false });
    for (const name of ["b", "a", "c", "d"]) await client.putRule({ name, eventPattern: pattern });
    for (const rule of ["b", "a", "c"])
      await client.putTargets({ rule, targets: ["1", "2"].map((id) => ({ id, arn: queue })) });
    await client.putTargets({ rule: "d", targets: [{ id: "1", arn: `${queue}2` }] });
    const first = await client.listRuleNamesByTarget({ targetArn: queue, limit: 2 });
    const second = await client.listRuleNamesByTarget({ targetArn: queue, limit: 2, nextToken: first.nextToken });
    expect([first.ruleNames, second.ruleNames, second.nextToken]).toEqual([["a", "b"], ["c"], undefined]);
    await client.removeTargets({ rule: "a", ids: ["1", "2"] });
    expect((await client.listRuleNamesByTarget({ targetArn: queue })).ruleNames).toEqual(["b", "c"]);
    expect(await refusalOf(client.listRuleNamesByTarget({ targetArn: queue, eventBusName: "gone" }))).toBe(
      "EVENT_BUS_NOT_FOUND: Event bus gone does not exist.",
    );
  });
});

describe("removeTargets", () => {
  test("removes targets; ids that are not there count as removed", async () => {
    const { client } = await startHarness();
    await client.putRule({ name: "all", eventPattern: pattern });
    await client.putTargets({ rule: "all", targets: ["a", "b"].map((id) => ({ id, arn: queue })) });
    const answer = await client.removeTargets({ rule: "all", ids: ["a", "z"] });
    expect([answer.failedEntryCount, answer.failedEntries]).toEqual([0, []]);
    await client.removeTargets({ rule: "all", ids: ["a"] });
    expect((await client.listTargetsByRule({ rule: "all" })).targets.map((target) => target.id)).toEqual(["b"]);
    expect(await refusalOf(client.removeTargets({ rule: "gone", ids: ["a"] }))).toBe(
      "RULE_NOT_FOUND: Rule gone does not exist on EventBus default.",
    );
  });
});
