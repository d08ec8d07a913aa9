import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test } from "vitest";

import type { TargetSchema } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { ServiceEndpoints } from "../../../services/event-bus/delivery/connectors.ts";
import type { Answer, HttpReceiver } from "../../support/http-receiver.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import type { HarnessOptions } from "../harness.ts";
import { startHarness } from "../harness.ts";

/** Members of a target without its id. */
type Target = Omit<MessageInitShape<typeof TargetSchema>, "$typeName" | "$unknown" | "id">;

const owner = "000000000000";
const arnOf = (service: string, resource: string): string => `arn:aws:${service}:us-east-1:${owner}:${resource}`;

/** Puts one event for a target of an installation whose service has its endpoint at a local double. */
const deliverTo = async (
  service: keyof ServiceEndpoints,
  target: Target,
  answer?: Answer,
  options: HarnessOptions = {},
) => {
  const double = await startHttpReceiver(answer);
  onTestFinished(() => double.close());
  const endpoint = { url: double.url, region: "us-east-1", accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" };
  const harness = await startHarness({ ...options, endpoints: { [service]: endpoint, ...options.endpoints } });
  const { client, app } = harness;
  await client.putRule({ name: "sales", eventPattern: '{"source":["shop"]}' });
  await client.putTargets({ rule: "sales", targets: [{ ...target, id: "t" }] });
  const { entries } = await client.putEvents({
    entries: [{ source: "shop", detailType: "Sale", detail: '{"n":1,"key":"k-7"}' }],
  });
  await app.jobs.idle();
  return { ...harness, double, eventId: entries[0]?.eventId ?? "" };
};

/** A request without its signature; the event's id as EVENT, the delivery's as DELIVERY. */
const shown = ({ received }: HttpReceiver, eventId: string): string[] =>
  received.map(({ method, url, headers, body }) => {
    const named = ["content-type", "x-amz-target", "x-amz-invocation-type", "x-color"].flatMap(
      (name) => headers[name] ?? [],
    );
    return [`${method} ${url}`, ...named, body.toString()]
      .join(" | ")
      .replaceAll(eventId, "EVENT")
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "DELIVERY");
  });

const event =
  '{"version":"0","id":"EVENT","detail-type":"Sale","source":"shop","account":"000000000000",' +
  '"time":"2026-01-02T03:04:05Z","region":"us-east-1","resources":[],"detail":{"n":1,"key":"k-7"}}';
const spelled = JSON.stringify(event);
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const json10 = "application/x-amz-json-1.0";
const json11 = "application/x-amz-json-1.1";

// service of the endpoint, target, the request that the service receives
const rows: [keyof ServiceEndpoints, Target, string][] = [
  [
    "lambda",
    { arn: arnOf("lambda", "function:count") },
    `POST /2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-east-1%3A000000000000%3Afunction%3Acount/invocations | application/json | Event | ${event}`,
  ],
  [
    "sqs",
    { arn: arnOf("sqs", "sales") },
    `POST / | ${json10} | AmazonSQS.SendMessage | {"QueueUrl":"URL/000000000000/sales","MessageBody":${spelled}}`,
  ],
  [
    "sqs",
    { arn: arnOf("sqs", "sales.fifo"), input: "1", sqsParameters: { messageGroupId: "g" } },
    `POST / | ${json10} | AmazonSQS.SendMessage | {"QueueUrl":"URL/000000000000/sales.fifo","MessageBody":"1",` +
      '"MessageGroupId":"g","MessageDeduplicationId":"DELIVERY"}',
  ],
  [
    "sns",
    { arn: arnOf("sns", "sales"), inputPath: "$.detail.key" },
    "POST / | application/x-www-form-urlencoded; charset=utf-8 | Action=Publish&Version=2010-03-31&" +
      "TopicArn=arn%3Aaws%3Asns%3Aus-east-1%3A000000000000%3Asales&Message=%22k-7%22",
  ],
  [
    "kinesis",
    {
      arn: arnOf("kinesis", "stream/sales"),
      roleArn: arnOf("iam", "role/put"),
      input: "{}",
      streamParameters: { partitionKeyPath: "$.detail.key" },
    },
    `POST / | ${json11} | Kinesis_20131202.PutRecord | {"StreamName":"sales","Data":"${base64("{}")}","PartitionKey":"k-7"}`,
  ],
  [
    "kinesis",
    { arn: arnOf("kinesis", "stream/sales"), roleArn: arnOf("iam", "role/put"), input: "{}" },
    `POST / | ${json11} | Kinesis_20131202.PutRecord | {"StreamName":"sales","Data":"${base64("{}")}","PartitionKey":"EVENT"}`,
  ],
  [
    "firehose",
    { arn: arnOf("firehose", "deliverystream/sales"), input: "[]" },
    `POST / | ${json11} | Firehose_20150804.PutRecord | {"DeliveryStreamName":"sales","Record":{"Data":"${base64("[]")}"}}`,
  ],
  [
    "logs",
    { arn: arnOf("logs", "log-group:/aws/events/sales:*"), input: "{}" },
    `POST / | ${json11} | Logs_20140328.PutLogEvents | {"logGroupName":"/aws/events/sales","logStreamName":"events",` +
      '"logEvents":[{"timestamp":1767323045000,"message":"{}"}]}',
  ],
  [
    "states",
    { arn: arnOf("states", "stateMachine:ship"), roleArn: arnOf("iam", "role/ship"), input: "{}" },
    `POST / | ${json10} | AWSStepFunctions.StartExecution | {"stateMachineArn":"arn:aws:states:us-east-1:000000000000:stateMachine:ship","input":"{}","name":"DELIVERY"}`,
  ],
  [
    "execute-api",
    {
      arn: arnOf("execute-api", "api1/live/PUT/sales/*"),
      roleArn: arnOf("iam", "role/api"),
      input: "{}",
      httpParameters: {
        pathParameterValues: ["$.detail.key"],
        headerParameters: { "X-Color": "red" },
        queryStringParameters: { n: "$.detail.n" },
      },
    },
    "PUT /live/sales/k-7?n=1 | application/json | red | {}",
  ],
  [
    "batch",
    {
      arn: arnOf("batch", "job-queue/night"),
      input: '{"Parameters":{"day":"1"}}',
      batchParameters: {
        jobDefinition: "count:3",
        jobName: "count",
        arrayProperties: { size: 4 },
        retryStrategy: { attempts: 2 },
      },
    },
    'POST /v1/submitjob | application/json | {"jobName":"count","jobQueue":"arn:aws:batch:us-east-1:000000000000:job-queue/night",' +
      '"jobDefinition":"count:3","arrayProperties":{"size":4},"retryStrategy":{"attempts":2},"parameters":{"day":"1"}}',
  ],
  [
    "ecs",
    {
      arn: arnOf("ecs", "cluster/shop"),
      ecsParameters: {
        taskDefinitionArn: arnOf("ecs", "task-definition/count:1"),
        taskCount: 2,
        launchType: "FARGATE",
        networkConfiguration: { awsvpcConfiguration: { subnets: ["s-1"], assignPublicIp: "DISABLED" } },
        enableEcsManagedTags: true,
        tags: [{ key: "a", value: "b" }],
      },
    },
    `POST / | ${json11} | AmazonEC2ContainerServiceV20141113.RunTask | {"cluster":"arn:aws:ecs:us-east-1:000000000000:cluster/shop",` +
      '"taskDefinition":"arn:aws:ecs:us-east-1:000000000000:task-definition/count:1","count":2,"launchType":"FARGATE",' +
      '"enableECSManagedTags":true,"networkConfiguration":{"awsvpcConfiguration":{"subnets":["s-1"],"assignPublicIp":"DISABLED"}},' +
      '"tags":[{"key":"a","value":"b"}],"clientToken":"DELIVERY"}',
  ],
  [
    "codepipeline",
    { arn: arnOf("codepipeline", "deploy") },
    `POST / | ${json11} | CodePipeline_20150709.StartPipelineExecution | {"name":"deploy","clientRequestToken":"DELIVERY"}`,
  ],
  [
    "codebuild",
    { arn: arnOf("codebuild", "project/site"), input: '{"sourceVersion":"main"}' },
    `POST / | ${json11} | CodeBuild_20161006.StartBuild | {"sourceVersion":"main","projectName":"site","idempotencyToken":"DELIVERY"}`,
  ],
  [
    "ssm",
    {
      arn: "arn:aws:ssm:us-east-1::document/AWS-RunShellScript",
      runCommandParameters: { runCommandTargets: [{ key: "tag:shop", values: ["a", "b"] }] },
    },
    `POST / | ${json11} | AmazonSSM.SendCommand | {"DocumentName":"AWS-RunShellScript","Targets":[{"Key":"tag:shop","Values":["a","b"]}]}`,
  ],
  [
    "ssm",
    { arn: arnOf("ssm", "automation-definition/Restart:2"), input: '{"Id":["i-1"]}' },
    `POST / | ${json11} | AmazonSSM.StartAutomationExecution | {"DocumentName":"Restart","DocumentVersion":"2","Parameters":{"Id":["i-1"]},"ClientToken":"DELIVERY"}`,
  ],
  [
    "ssm",
    { arn: arnOf("ssm", "opsitem"), input: '"late"' },
    `POST / | ${json11} | AmazonSSM.CreateOpsItem | {"Title":"Sale","Description":"\\"late\\"","Source":"shop",` +
      `"OperationalData":{"event":{"Type":"String","Value":${spelled}}}}`,
  ],
  [
    "ssm-incidents",
    { arn: "arn:aws:ssm-incidents::000000000000:response-plan/fire", input: "{}" },
    'POST /startIncident | application/json | {"responsePlanArn":"arn:aws:ssm-incidents::000000000000:response-plan/fire",' +
      '"clientToken":"DELIVERY","triggerDetails":{"source":"aws.events","timestamp":1767323045,"rawData":"{}"}}',
  ],
  [
    "redshift-data",
    {
      arn: arnOf("redshift", "cluster:books"),
      redshiftDataParameters: { database: "sales", dbUser: "eve", sql: "select 1", withEvent: true },
    },
    `POST / | ${json11} | RedshiftData.ExecuteStatement | {"ClusterIdentifier":"books","Database":"sales","DbUser":"eve","WithEvent":true,"Sql":"select 1","ClientToken":"DELIVERY"}`,
  ],
  [
    "redshift-data",
    {
      arn: arnOf("redshift-serverless", "workgroup/books"),
      redshiftDataParameters: { database: "sales", sqls: ["a", "$.detail.key"] },
    },
    `POST / | ${json11} | RedshiftData.BatchExecuteStatement | {"WorkgroupName":"books","Database":"sales","Sqls":["a","k-7"],"ClientToken":"DELIVERY"}`,
  ],
  [
    "sagemaker",
    {
      arn: arnOf("sagemaker", "pipeline/train"),
      sageMakerPipelineParameters: { pipelineParameterList: [{ name: "key", value: "$.detail.key" }] },
    },
    `POST / | ${json11} | SageMaker.StartPipelineExecution | {"PipelineName":"train","ClientRequestToken":"DELIVERY","PipelineParameters":[{"Name":"key","Value":"k-7"}]}`,
  ],
  [
    "inspector",
    { arn: arnOf("inspector", "target/0-a/template/0-b") },
    `POST / | ${json11} | InspectorService.StartAssessmentRun | {"assessmentTemplateArn":"arn:aws:inspector:us-east-1:000000000000:target/0-a/template/0-b"}`,
  ],
  [
    "imagebuilder",
    { arn: arnOf("imagebuilder", "image-pipeline/base") },
    'PUT /StartImagePipelineExecution | application/json | {"imagePipelineArn":"arn:aws:imagebuilder:us-east-1:000000000000:image-pipeline/base","clientToken":"DELIVERY"}',
  ],
  [
    "glue",
    { arn: arnOf("glue", "workflow/nightly") },
    `POST / | ${json11} | AWSGlue.StartWorkflowRun | {"Name":"nightly"}`,
  ],
  [
    "appsync",
    {
      arn: arnOf("appsync", "endpoints/graphql-api/a1"),
      inputPath: "$.detail",
      appSyncParameters: { graphQlOperation: "mutation Sold { x }" },
    },
    'POST /graphql | application/json | {"query":"mutation Sold { x }","variables":{"n":1,"key":"k-7"}}',
  ],
];

describe("a delivery to another service", () => {
  test.each(rows)("by the endpoint of %s with the target %j is the request %s", async (service, target, request) => {
    const { double, eventId, deadLetters } = await deliverTo(service, target);
    expect(shown(double, eventId)).toEqual([request.replace("URL", double.url)]);
    expect(double.received[0]?.headers.authorization).toMatch(
      new RegExp(
        `^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/us-east-1/${service}/aws4_request, ` +
          "SignedHeaders=[a-z;-]*content-type;host;[a-z;-]*x-amz-date[a-z;-]*, Signature=[0-9a-f]{64}$",
      ),
    );
    expect(await deadLetters()).toEqual([]);
  });

  // status, body of the answer, code of the dead letter; undefined: the delivery is retried
  test.each<[number, string, string | undefined]>([
    [400, '{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}', "NO_RESOURCE"],
    [400, "<ErrorResponse><Error><Code>NotFound</Code></Error></ErrorResponse>", "NO_RESOURCE"],
    [404, "", "NO_RESOURCE"],
    [400, '{"__type":"AccessDeniedException"}', "NO_PERMISSIONS"],
    [403, "", "NO_PERMISSIONS"],
    [400, '{"__type":"ValidationException"}', "INVALID_PARAMETER"],
    [400, '{"__type":"ExecutionAlreadyExists"}', "RESOURCE_ALREADY_EXISTS"],
    [418, "", "ERROR_FROM_TARGET"],
    [400, '{"__type":"ThrottlingException"}', undefined],
    [400, '{"__type":"LimitExceededException"}', undefined],
    [429, "", undefined],
    [500, "", undefined],
    [503, '{"__type":"ServiceUnavailable"}', undefined],
  ])("that is answered with %s %s ends as %s", async (status, body, code) => {
    const { app, double, deadLetters } = await deliverTo("sqs", { arn: arnOf("sqs", "sales") }, () => ({
      status,
      body,
    }));
    expect(double.received).toHaveLength(1);
    expect((await deadLetters()).map(({ letter }) => letter.errorCode)).toEqual(code === undefined ? [] : [code]);
    expect(app.jobs.stats().retried).toBe(code === undefined ? 1 : 0);
  });

  test("creates the log stream where it does not exist, and writes again", async () => {
    const exists = { stream: false };
    const { double } = await deliverTo(
      "logs",
      { arn: arnOf("logs", "log-group:sales"), input: "{}" },
      ({ headers }) => {
        if (headers["x-amz-target"] === "Logs_20140328.CreateLogStream") exists.stream = true;
        return exists.stream
          ? { status: 200, body: "{}" }
          : { status: 400, body: '{"__type":"ResourceNotFoundException"}' };
      },
    );
    expect(double.received.map(({ headers }) => headers["x-amz-target"])).toEqual([
      "Logs_20140328.PutLogEvents",
      "Logs_20140328.CreateLogStream",
      "Logs_20140328.PutLogEvents",
    ]);
  });
});

describe("a dead letter", () => {
  test("is sent to the queue that its target names, with the documented attributes", async () => {
    const queue = await startHttpReceiver();
    onTestFinished(() => queue.close());
    const endpoint = { url: queue.url, region: "us-east-1", accessKeyId: "", secretAccessKey: "" };
    const { eventId, deadLetters } = await deliverTo(
      "sns",
      { arn: arnOf("sns", "sales"), deadLetterConfig: { arn: arnOf("sqs", "lost") } },
      () => ({ status: 404 }),
      { endpoints: { sqs: endpoint } },
    );
    expect(shown(queue, eventId)).toEqual([
      `POST / | ${json10} | AmazonSQS.SendMessage | ${JSON.stringify({
        QueueUrl: `${queue.url}/000000000000/lost`,
        MessageBody: event,
        MessageAttributes: {
          RULE_ARN: { DataType: "String", StringValue: "arn:aws:events:us-east-1:000000000000:rule/sales" },
          TARGET_ARN: { DataType: "String", StringValue: "arn:aws:sns:us-east-1:000000000000:sales" },
          ERROR_CODE: { DataType: "String", StringValue: "NO_RESOURCE" },
          ERROR_MESSAGE: { DataType: "String", StringValue: "The service answered with status 404." },
          RETRY_ATTEMPTS: { DataType: "Number", StringValue: "0" },
        },
      })}`,
    ]);
    expect(queue.received[0]?.headers.authorization).toBeUndefined();
    expect(await deadLetters()).toHaveLength(1);
  });

  test("waits for a queue that does not answer", async () => {
    let isUp = false;
    const queue = await startHttpReceiver(() => ({ status: isUp ? 200 : 503 }));
    onTestFinished(() => queue.close());
    const { app, clock } = await deliverTo(
      "sns",
      { arn: arnOf("sns", "sales"), deadLetterConfig: { arn: arnOf("sqs", "lost") } },
      () => ({ status: 404 }),
      { endpoints: { sqs: { url: queue.url, region: "us-east-1", accessKeyId: "", secretAccessKey: "" } } },
    );
    expect(queue.received).toHaveLength(1);
    isUp = true;
    clock.advance(60_000);
    await app.jobs.idle();
    expect(queue.received).toHaveLength(2);
    expect(app.jobs.stats().kinds["dead-letter"]).toMatchObject({ done: 1, retried: 1 });
  });
});
