/** The network address of an application's proxy in the fabric. */
export interface ProvisionedProxy {
  /** Ten characters of 0-9a-z. */
  readonly apiGatewayId: string;
  readonly nlbName: string;
  readonly nlbArn: string;
  /** Ten characters of 0-9a-z. */
  readonly vpcLinkId: string;
}

/** What the fabric knows of a VPC. */
export interface VpcDescription {
  readonly name: string | undefined;
  /** Never empty. */
  readonly cidrBlocks: readonly string[];
}

/**
 * What provisions and describes the network around applications. Every method is called before the transaction that
 * records its answer; what was provisioned for a call that is refused afterwards is not recorded.
 */
export interface Fabric {
  /** Makes a transit gateway; answers `tgw-` and 17 hexadecimal digits. */
  createTransitGateway(accountId: string): Promise<string>;
  /** Makes proxy, load balancer and private link for an application. */
  createProxy(accountId: string, applicationId: string, vpcId: string): Promise<ProvisionedProxy>;
  describeVpc(accountId: string, vpcId: string): Promise<VpcDescription>;
  deleteTransitGateway(accountId: string, transitGatewayId: string): Promise<void>;
  deleteProxy(accountId: string, proxy: ProvisionedProxy): Promise<void>;
}
