import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import { onTestFinished } from "vitest";

import { ApiDestinationHttpMethod } from "../../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import { ConnectionAuthorizationType } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import type {
  CreateApiDestinationRequestSchema,
  CreateConnectionRequestSchema,
} from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import type { TargetSchema } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import type { Answer, HttpReceiver } from "../../support/http-receiver.ts";
import { startHttpReceiver } from "../../support/http-receiver.ts";
import type { EventBusClient } from "../harness.ts";

/** Members of a message; never a whole one. */
type Init<Desc extends DescMessage> = Omit<MessageInitShape<Desc>, "$typeName" | "$unknown">;

/** What a shop's rule delivers to; each part may be changed. */
export interface ShopOptions {
  readonly answer?: Answer;
  readonly connection?: Init<typeof CreateConnectionRequestSchema>;
  readonly destination?: Init<typeof CreateApiDestinationRequestSchema>;
  readonly target?: Init<typeof TargetSchema>;
}

/** A local endpoint and a rule on the default bus that delivers all events of `shop` to it. */
export interface Shop {
  readonly till: HttpReceiver;
  readonly destinationArn: string;
  /** Puts one event of the shop; gives its id. */
  sell(detail: unknown): Promise<string>;
}

/** Starts an endpoint and points a rule at it. */
export const openShop = async (client: EventBusClient, options: ShopOptions = {}): Promise<Shop> => {
  const till = await startHttpReceiver(options.answer);
  onTestFinished(() => till.close());
  const { connectionArn } = await client.createConnection({
    name: "shop",
    authorizationType: ConnectionAuthorizationType.API_KEY,
    authParameters: { apiKeyAuthParameters: { apiKeyName: "x-key", apiKeyValue: "k-1" } },
    ...options.connection,
  });
  const { apiDestinationArn } = await client.createApiDestination({
    name: "till",
    connectionArn,
    invocationEndpoint: `${till.url}/till`,
    httpMethod: ApiDestinationHttpMethod.POST,
    ...options.destination,
  });
  await client.putRule({ name: "sales", eventPattern: '{"source":["shop"]}' });
  await client.putTargets({ rule: "sales", targets: [{ id: "till", arn: apiDestinationArn, ...options.target }] });
  return {
    till,
    destinationArn: apiDestinationArn,
    sell: async (detail) => {
      const entry = { source: "shop", detailType: "Sale", detail: JSON.stringify(detail) };
      const { entries } = await client.putEvents({ entries: [entry] });
      return entries[0]?.eventId ?? "";
    },
  };
};
