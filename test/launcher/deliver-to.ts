import {
  CreateApiDestinationCommand,
  CreateConnectionCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from "@aws-sdk/client-eventbridge";

import type { DeliveryRoleOptions } from "../support/delivery-role.ts";
import { createDeliveryRole } from "../support/delivery-role.ts";
import type { SdkClients } from "../support/sdk-clients.ts";

/** Has the events of a source delivered to a URL, by a connection, a destination and a rule of the source's name. */
export const deliverTo = async (
  { eventBus }: Pick<SdkClients, "eventBus">,
  source: string,
  url: string,
  roleOptions: DeliveryRoleOptions,
): Promise<void> => {
  const { ConnectionArn } = await eventBus.send(
    new CreateConnectionCommand({
      Name: source,
      AuthorizationType: "API_KEY",
      AuthParameters: { ApiKeyAuthParameters: { ApiKeyName: "x-key", ApiKeyValue: `of the ${source}` } },
    }),
  );
  const { ApiDestinationArn } = await eventBus.send(
    new CreateApiDestinationCommand({ Name: source, ConnectionArn, HttpMethod: "POST", InvocationEndpoint: url }),
  );
  await eventBus.send(new PutRuleCommand({ Name: source, EventPattern: JSON.stringify({ source: [source] }) }));
  const RoleArn = await createDeliveryRole(roleOptions);
  const target = { Id: "endpoint", Arn: ApiDestinationArn, RoleArn };
  await eventBus.send(new PutTargetsCommand({ Rule: source, Targets: [target] }));
};
