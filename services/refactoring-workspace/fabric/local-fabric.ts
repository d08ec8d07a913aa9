import { arn } from "../../kit/arn/arn.ts";
import type { Ids } from "../../kit/ids/ids.ts";
import type { Fabric } from "./fabric.ts";

const lowerAlphanumeric = "0123456789abcdefghijklmnopqrstuvwxyz";

/**
 * The fabric of one machine: every address is reached directly, so its gateways, load balancers and links are only
 * names. Every VPC has the one private range of the machine.
 */
export const localFabric = (ids: Ids, prefix: { readonly partition: string; readonly region: string }): Fabric => ({
  createTransitGateway: async () => `tgw-${ids.hex(17)}`,
  createProxy: async (accountId, applicationId) => {
    const nlbName = `workspace-nlb-${applicationId.slice("app-".length)}`;
    const resource = `loadbalancer/net/${nlbName}/${ids.hex(16)}`;
    return {
      apiGatewayId: ids.token(10, lowerAlphanumeric),
      nlbName,
      nlbArn: arn({ ...prefix, service: "elasticloadbalancing", account: accountId, resource }),
      vpcLinkId: ids.token(10, lowerAlphanumeric),
    };
  },
  describeVpc: async () => ({ name: undefined, cidrBlocks: ["10.0.0.0/8"] }),
  deleteTransitGateway: async () => {},
  deleteProxy: async () => {},
});
