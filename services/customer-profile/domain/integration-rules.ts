import type { FlowDefinition } from "../../../gen/quartet/customerprofile/v1/integration_pb.ts";

/** The members of a requested integration that its rules concern. */
export interface RequestedIntegration {
  readonly uri?: string;
  readonly objectTypeName?: string;
  readonly objectTypeNames: Readonly<Record<string, string>>;
  readonly flowDefinition?: FlowDefinition;
}

/** Why an integration is not valid, as a message for its author; undefined if it is. */
export const findIntegrationProblem = (requested: RequestedIntegration): string | undefined => {
  if (requested.objectTypeName === undefined && Object.keys(requested.objectTypeNames).length === 0)
    return "it names no object type";
  if (requested.uri === undefined && requested.flowDefinition === undefined)
    return "it has neither an address nor a flow definition";
  return undefined;
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
