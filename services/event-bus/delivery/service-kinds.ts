import { parseJson } from "../../kit/json/parse-json.ts";
import { invokeWithEvent } from "../../kit/outgoing/function-invocation.ts";
import { sendMessage } from "../../kit/outgoing/queue-message.ts";
import type { ServiceRequest } from "../../kit/outgoing/service-request.ts";
import { restCall, targetCall } from "../../kit/outgoing/service-request.ts";
import { publishMessage } from "../../kit/outgoing/topic-message.ts";
import type { SettingsOf } from "../../kit/config/config.ts";
import type { eventBusSettings } from "../../launcher/settings.ts";
import { dynamicValue } from "../domain/dynamic-value.ts";
import { outgoingHeaders } from "../domain/outgoing-headers.ts";
import { containerTask } from "./container-task.ts";
import { partitionKey } from "./partition-key.ts";
import type { ServiceCall } from "./service-request.ts";
import { logGroupName, nameIn } from "./service-request.ts";

/** One kind of target that is reached by a call of its service's API at a configured endpoint. */
export interface ServiceKind {
  /** The service parts of the targets' ARNs. */
  readonly services: readonly string[];
  /** The text with which the resource part of the ARNs begins. */
  readonly resourcePrefix: string;
  /** The setting that names the endpoint, and the service's name in signatures. */
  readonly endpoint: ServiceEndpointName;
  /** The action that the target's role must be allowed on it. */
  readonly action: string;
  readonly request: (call: ServiceCall) => ServiceRequest;
  /** Creates what the request needs, if the service answers that it does not exist; then the request is sent again. */
  readonly creation?: (call: ServiceCall) => ServiceRequest;
}

/** The name of an endpoint that an installation may configure. */
export type ServiceEndpointName = keyof SettingsOf<typeof eventBusSettings>["connectors"];

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const dataStatement = ({ target, arn, paths, deliveryId }: ServiceCall): ServiceRequest => {
  const parameters = target.redshiftDataParameters;
  const filled = (text: string | undefined): string | undefined => text && dynamicValue(text, paths);
  const statements = parameters?.sqls ?? [];
  return targetCall(`RedshiftData.${statements.length > 0 ? "BatchExecuteStatement" : "ExecuteStatement"}`, "1.1", {
    ...(arn.service === "redshift" ? { ClusterIdentifier: nameIn(arn) } : { WorkgroupName: nameIn(arn) }),
    Database: filled(parameters?.database),
    DbUser: filled(parameters?.dbUser),
    SecretArn: filled(parameters?.secretManagerArn),
    StatementName: filled(parameters?.statementName),
    WithEvent: parameters?.withEvent,
    ...(statements.length > 0
      ? { Sqls: statements.map((text) => dynamicValue(text, paths)) }
      : { Sql: filled(parameters?.sql) }),
    ClientToken: deliveryId,
  });
};

/** A request to `<api id>/<stage>/<method>/<path>`; the endpoint or its path names the API. */
const restApiRequest = ({ target, arn, input, paths }: ServiceCall): ServiceRequest => {
  const [, stage = "", method = "", ...rest] = arn.resource.split("/");
  const { pathParameterValues = [], queryStringParameters = {}, headerParameters = {} } = target.httpParameters ?? {};
  const values = [...pathParameterValues];
  const path = rest.join("/").replaceAll("*", () => encodeURIComponent(dynamicValue(values.shift() ?? "", paths)));
  const filled = (parameters: Readonly<Record<string, string>>): (readonly [string, string])[] =>
    Object.entries(parameters).map(([name, value]) => [name.toLowerCase(), dynamicValue(value, paths)]);
  const query = new URLSearchParams(
    Object.entries(queryStringParameters).map(([name, value]): [string, string] => [name, dynamicValue(value, paths)]),
  );
  return {
    method: method === "*" ? "POST" : method,
    path: `/${stage}/${path}${query.size === 0 ? "" : `?${query.toString()}`}`,
    headers: outgoingHeaders([["content-type", "application/json"]], filled(headerParameters)),
    body: method === "GET" || method === "HEAD" ? "" : input,
  };
};

/**
 * The kinds of targets that are reached by one call of their service. Where the service knows a repeated call by a
 * token, the token is the delivery's id, so that a delivery which is made once more starts nothing a second time.
 */
export const serviceKinds: readonly ServiceKind[] = [
  {
    services: ["lambda"],
    resourcePrefix: "function:",
    endpoint: "lambda",
    action: "lambda:InvokeFunction",
    request: ({ target, input }) => invokeWithEvent(target.arn, input),
  },
  {
    services: ["sqs"],
    resourcePrefix: "",
    endpoint: "sqs",
    action: "sqs:SendMessage",
    request: ({ target, arn, input, endpoint, deliveryId }) =>
      sendMessage(
        endpoint,
        { account: arn.account, name: arn.resource },
        { body: input, groupId: target.sqsParameters?.messageGroupId, deduplicationId: deliveryId },
      ),
  },
  {
    services: ["sns"],
    resourcePrefix: "",
    endpoint: "sns",
    action: "sns:Publish",
    request: ({ target, input }) => publishMessage(target.arn, { body: input }),
  },
  {
    services: ["kinesis"],
    resourcePrefix: "stream/",
    endpoint: "kinesis",
    action: "kinesis:PutRecord",
    request: (call) =>
      targetCall("Kinesis_20131202.PutRecord", "1.1", {
        StreamName: nameIn(call.arn),
        Data: base64(call.input),
        PartitionKey: partitionKey(call.target, call.paths, call.eventId),
      }),
  },
  {
    services: ["firehose"],
    resourcePrefix: "deliverystream/",
    endpoint: "firehose",
    action: "firehose:PutRecord",
    request: ({ arn, input }) =>
      targetCall("Firehose_20150804.PutRecord", "1.1", {
        DeliveryStreamName: nameIn(arn),
        Record: { Data: base64(input) },
      }),
  },
  {
    services: ["logs"],
    resourcePrefix: "log-group:",
    endpoint: "logs",
    action: "logs:PutLogEvents",
    request: ({ arn, input, ingestedMs }) =>
      targetCall("Logs_20140328.PutLogEvents", "1.1", {
        logGroupName: logGroupName(arn),
        logStreamName: "events",
        logEvents: [{ timestamp: ingestedMs, message: input }],
      }),
    creation: ({ arn }) =>
      targetCall("Logs_20140328.CreateLogStream", "1.1", { logGroupName: logGroupName(arn), logStreamName: "events" }),
  },
  {
    services: ["states"],
    resourcePrefix: "stateMachine:",
    endpoint: "states",
    action: "states:StartExecution",
    request: ({ target, input, deliveryId }) =>
      targetCall("AWSStepFunctions.StartExecution", "1.0", { stateMachineArn: target.arn, input, name: deliveryId }),
  },
  {
    services: ["execute-api"],
    resourcePrefix: "",
    endpoint: "execute-api",
    action: "execute-api:Invoke",
    request: restApiRequest,
  },
  {
    services: ["batch"],
    resourcePrefix: "job-queue/",
    endpoint: "batch",
    action: "batch:SubmitJob",
    request: ({ target, ownInput }) =>
      restCall("/v1/submitjob", {
        jobName: target.batchParameters?.jobName,
        jobQueue: target.arn,
        jobDefinition: target.batchParameters?.jobDefinition,
        arrayProperties: target.batchParameters?.arrayProperties && {
          size: target.batchParameters.arrayProperties.size,
        },
        retryStrategy: target.batchParameters?.retryStrategy && {
          attempts: target.batchParameters.retryStrategy.attempts,
        },
        parameters: ownInput?.["Parameters"],
        containerOverrides: ownInput?.["ContainerOverrides"],
      }),
  },
  {
    services: ["ecs"],
    resourcePrefix: "cluster/",
    endpoint: "ecs",
    action: "ecs:RunTask",
    request: (call) => targetCall("AmazonEC2ContainerServiceV20141113.RunTask", "1.1", containerTask(call)),
  },
  {
    services: ["codepipeline"],
    resourcePrefix: "",
    endpoint: "codepipeline",
    action: "codepipeline:StartPipelineExecution",
    request: ({ arn, deliveryId }) =>
      targetCall("CodePipeline_20150709.StartPipelineExecution", "1.1", {
        name: arn.resource,
        clientRequestToken: deliveryId,
      }),
  },
  {
    services: ["codebuild"],
    resourcePrefix: "project/",
    endpoint: "codebuild",
    action: "codebuild:StartBuild",
    request: ({ arn, ownInput, deliveryId }) =>
      targetCall("CodeBuild_20161006.StartBuild", "1.1", {
        ...ownInput,
        projectName: nameIn(arn),
        idempotencyToken: deliveryId,
      }),
  },
  {
    services: ["ssm"],
    resourcePrefix: "document/",
    endpoint: "ssm",
    action: "ssm:SendCommand",
    request: ({ target, arn, ownInput }) =>
      targetCall("AmazonSSM.SendCommand", "1.1", {
        DocumentName: nameIn(arn),
        Targets: (target.runCommandParameters?.runCommandTargets ?? []).map(({ key, values }) => ({
          Key: key,
          Values: values,
        })),
        Parameters: ownInput,
      }),
  },
  {
    services: ["ssm"],
    resourcePrefix: "automation-definition/",
    endpoint: "ssm",
    action: "ssm:StartAutomationExecution",
    request: ({ arn, ownInput, deliveryId }) => {
      const [name, version] = arn.resource.slice("automation-definition/".length).split(":");
      return targetCall("AmazonSSM.StartAutomationExecution", "1.1", {
        DocumentName: name,
        DocumentVersion: version,
        Parameters: ownInput,
        ClientToken: deliveryId,
      });
    },
  },
  {
    services: ["ssm"],
    resourcePrefix: "opsitem",
    endpoint: "ssm",
    action: "ssm:CreateOpsItem",
    request: ({ input, event, paths }) =>
      targetCall("AmazonSSM.CreateOpsItem", "1.1", {
        Title: String(parseJson(paths.read("$.detail-type") ?? '""')),
        Description: input.slice(0, 2_048),
        Source: String(parseJson(paths.read("$.source") ?? '""')).slice(0, 128),
        OperationalData: { event: { Type: "String", Value: event } },
      }),
  },
  {
    services: ["ssm-incidents"],
    resourcePrefix: "response-plan/",
    endpoint: "ssm-incidents",
    action: "ssm-incidents:StartIncident",
    request: ({ target, input, ingestedMs, deliveryId }) =>
      restCall("/startIncident", {
        responsePlanArn: target.arn,
        clientToken: deliveryId,
        triggerDetails: { source: "aws.events", timestamp: ingestedMs / 1_000, rawData: input.slice(0, 10_000) },
      }),
  },
  {
    services: ["redshift", "redshift-serverless"],
    resourcePrefix: "",
    endpoint: "redshift-data",
    action: "redshift-data:ExecuteStatement",
    request: dataStatement,
  },
  {
    services: ["sagemaker"],
    resourcePrefix: "pipeline/",
    endpoint: "sagemaker",
    action: "sagemaker:StartPipelineExecution",
    request: ({ target, arn, paths, deliveryId }) =>
      targetCall("SageMaker.StartPipelineExecution", "1.1", {
        PipelineName: nameIn(arn),
        ClientRequestToken: deliveryId,
        PipelineParameters: target.sageMakerPipelineParameters?.pipelineParameterList.map(({ name, value }) => ({
          Name: name,
          Value: dynamicValue(value, paths),
        })),
      }),
  },
  {
    services: ["inspector"],
    resourcePrefix: "target/",
    endpoint: "inspector",
    action: "inspector:StartAssessmentRun",
    request: ({ target }) =>
      targetCall("InspectorService.StartAssessmentRun", "1.1", { assessmentTemplateArn: target.arn }),
  },
  {
    services: ["imagebuilder"],
    resourcePrefix: "image-pipeline/",
    endpoint: "imagebuilder",
    action: "imagebuilder:StartImagePipelineExecution",
    request: ({ target, deliveryId }) =>
      restCall("/StartImagePipelineExecution", { imagePipelineArn: target.arn, clientToken: deliveryId }, "PUT"),
  },
  {
    services: ["glue"],
    resourcePrefix: "workflow/",
    endpoint: "glue",
    action: "glue:StartWorkflowRun",
    request: ({ arn }) => targetCall("AWSGlue.StartWorkflowRun", "1.1", { Name: nameIn(arn) }),
  },
  {
    services: ["appsync"],
    resourcePrefix: "endpoints/graphql-api/",
    endpoint: "appsync",
    action: "appsync:GraphQL",
    request: ({ target, input }) =>
      restCall("/graphql", { query: target.appSyncParameters?.graphQlOperation, variables: parseJson(input) }),
  },
];
