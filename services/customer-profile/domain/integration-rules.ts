import type { FlowDefinition } from "../../../gen/quartet/customerprofile/v1/integration_pb.ts";

/** What an integration asks for, as far as its rules go. */
export interface RequestedIntegration {
  readonly uri?: string;
  readonly objectTypeName?: string;
  readonly objectTypeNames: Readonly<Record<string, string>>;
  readonly flowDefinition?: FlowDefinition;
}

/** What is wrong with an integration, in words for its author, or undefined. */
export const findIntegrationProblem = (requested: RequestedIntegration): string | undefined => {
  if (requested.objectTypeName === undefined && Object.keys(requested.objectTypeNames).length === 0)
    return "it names no object type";
  if (requested.uri === undefined && requested.flowDefinition === undefined)
    return "it has neither an address nor a flow definition";
  return undefined;
};

/** The names of all object types that an integration fills. */
export const objectTypesOf = (requested: RequestedIntegration): readonly string[] => [
  ...(requested.objectTypeName === undefined ? [] : [requested.objectTypeName]),
  ...Object.values(requested.objectTypeNames),
];

/** The address of an integration that names none: made of domain, connector, object type and the instant in milliseconds. */
export const madeUri = (domainName: string, requested: RequestedIntegration, nowMs: number): string =>
  [
    domainName,
    requested.flowDefinition?.sourceFlowConfig?.connectorType ?? "",
    requested.objectTypeName ?? "events",
    String(nowMs),
  ].join("_");
