/** The network address of an application's proxy in the fabric. */
export interface ProvisionedProxy {
  /** Ten characters of 0-9a-z. */
  readonly apiGatewayId: string;
  readonly nlbName: string;
  readonly nlbArn: string;
  /** Ten characters of 0-9a-z. */
  readonly vpcLinkId: string;
}

/** The description of a VPC. */
export interface VpcDescription {
  readonly name: string | undefined;
  /** Never empty. */
  readonly cidrBlocks: readonly string[];
}

/**
 * Provisions and describes the network around applications. It is called outside of transactions, which may run again,
 * and identifies what it provisions by the id of the environment or application.
 *
 * - A creation is called once for an id. Before it, a job is stored that deletes what was created unless the id is
 *   recorded (work/fabric-release.ts); so a refused call, a failed one and a crash leave nothing behind.
 * - A deletion is called at least once, by a job that repeats it until it succeeds. It must succeed for an id for which
 *   nothing exists, and for one whose creation failed halfway.
 */
export interface Fabric {
  /** Creates a transit gateway for an environment; returns `tgw-` and 17 hexadecimal digits. */
  createTransitGateway(accountId: string, environmentId: string): Promise<string>;
  /** Creates proxy, load balancer and private link for an application. */
  createProxy(accountId: string, applicationId: string, vpcId: string): Promise<ProvisionedProxy>;
  /** Describes a VPC without changing anything. */
  describeVpc(accountId: string, vpcId: string): Promise<VpcDescription>;
  /** Deletes the transit gateway of an environment if there is one. */
  deleteTransitGateway(accountId: string, environmentId: string): Promise<void>;
  /** Deletes proxy, load balancer and private link of an application, as far as they exist. */
  deleteProxy(accountId: string, applicationId: string): Promise<void>;
}
