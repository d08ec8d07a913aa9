import type { EcsParameters } from "../../../gen/quartet/eventbus/v1/target_parameters_pb.ts";
import type { ServiceCall } from "./service-request.ts";

/** The members of a request to run a container task; those without a value are undefined. */
export const containerTask = ({ target, ownInput, deliveryId }: ServiceCall): object => {
  const parameters = target.ecsParameters;
  return {
    cluster: target.arn,
    taskDefinition: parameters?.taskDefinitionArn,
    count: parameters?.taskCount ?? 1,
    launchType: parameters?.launchType,
    platformVersion: parameters?.platformVersion,
    group: parameters?.group,
    referenceId: parameters?.referenceId,
    propagateTags: parameters?.propagateTags,
    enableECSManagedTags: parameters?.enableEcsManagedTags,
    enableExecuteCommand: parameters?.enableExecuteCommand,
    networkConfiguration: networkOf(parameters),
    capacityProviderStrategy: unlessEmpty(
      parameters?.capacityProviderStrategy.map(({ capacityProvider, weight, base }) => ({
        capacityProvider,
        weight,
        base,
      })),
    ),
    placementConstraints: unlessEmpty(
      parameters?.placementConstraints.map(({ type, expression }) => ({ type, expression })),
    ),
    placementStrategy: unlessEmpty(parameters?.placementStrategy.map(({ type, field }) => ({ type, field }))),
    tags: unlessEmpty(parameters?.tags.map(({ key, value }) => ({ key, value }))),
    overrides: ownInput,
    clientToken: deliveryId,
  };
};

const networkOf = (parameters: EcsParameters | undefined): object | undefined => {
  const network = parameters?.networkConfiguration?.awsvpcConfiguration;
  if (network === undefined) return undefined;
  const { subnets, securityGroups, assignPublicIp } = network;
  return { awsvpcConfiguration: { subnets, securityGroups: unlessEmpty(securityGroups), assignPublicIp } };
};

const unlessEmpty = <Item>(items: readonly Item[] | undefined): readonly Item[] | undefined =>
  items === undefined || items.length === 0 ? undefined : items;
