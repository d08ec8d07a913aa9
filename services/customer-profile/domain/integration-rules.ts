import type { FlowDefinition } from "../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import type { Arn } from "../../kit/arn/arn.ts";
import { arn, parseArn } from "../../kit/arn/arn.ts";

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
  const instance = instanceOf(requested.uri ?? "");
  if (instance !== undefined && instance.account !== accountId)
    return "its contact center instance is of another account";
  return undefined;
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

/** The names of all object types that an integration imports. */
export const objectTypesOf = (requested: RequestedIntegration): readonly string[] => [
  ...(requested.objectTypeName === undefined ? [] : [requested.objectTypeName]),
  ...Object.values(requested.objectTypeNames),
];

/** The address of an integration that names none: domain, connector, object type and the instant in milliseconds. */
export const generatedUri = (domainName: string, requested: RequestedIntegration, nowMs: number): string =>
  [
    domainName,
    requested.flowDefinition?.sourceFlowConfig?.connectorType ?? "",
    requested.objectTypeName ?? "events",
    String(nowMs),
  ].join("_");
