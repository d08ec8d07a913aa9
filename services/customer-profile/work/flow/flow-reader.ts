import { assumeRole } from "../../../kit/accounts/assume-role.ts";
import { arn } from "../../../kit/arn/arn.ts";
import { serviceCaller } from "../../../kit/identity/caller.ts";
import type { FlowDefinition } from "../../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import type { ReadBucket } from "../../sources/bucket-source.ts";
import { SourceError } from "../../sources/bucket-source.ts";
import type { FlowTools } from "./flow-tools.ts";

/** The name by which policies of buckets let flows read. */
const readingService = "appflow.amazonaws.com";
/** The name by which roles trust this service. */
const trustedService = "profile.amazonaws.com";

type RoleTools = Pick<FlowTools, "roles"> & { readonly app: Pick<FlowTools["app"], "region"> };

/** Whose flow reads, and in whose name. */
interface FlowReader {
  readonly account: string;
  /** Empty: none. */
  readonly roleArn: string;
  readonly flow: FlowDefinition;
}

/**
 * Where a flow reads, and as whom: in the name of the integration's role, which must be of its account and trust the
 * service for the flow, any bucket that the role may read; without a role as the service itself, which has only what
 * the policy of a bucket of the same account allows it. Throws SourceError.
 */
export const readBucketOf = ({ app, roles }: RoleTools, { account, roleArn, flow }: FlowReader): ReadBucket => {
  const { bucketName = "", bucketPrefix = "" } = flow.sourceFlowConfig?.sourceConnectorProperties?.s3 ?? {};
  const sourceArn = arn({
    partition: "aws",
    service: "appflow",
    region: app.region,
    account,
    resource: `flow/${flow.flowName}`,
  });
  const bucket = { name: bucketName, prefix: bucketPrefix };
  if (roleArn === "") {
    const caller = serviceCaller({ name: readingService, sourceAccount: account, sourceArn });
    return { ...bucket, caller, owner: account };
  }
  const context = new Map([
    ["aws:sourceaccount", [account]],
    ["aws:sourcearn", [sourceArn]],
  ]);
  const request = { roleArn, sessionName: "flow", context };
  const assumed = roles && assumeRole(roles, { serviceNames: [trustedService] }, request);
  if (assumed === undefined || "refusal" in assumed || assumed.role.accountId !== account)
    throw new SourceError(
      "away",
      `${roleArn} is no role of the account that trusts ${trustedService} for ${sourceArn}`,
    );
  return { ...bucket, caller: assumed.caller, owner: undefined };
};
