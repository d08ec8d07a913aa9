import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import type { NamedResource } from "../domain/resource-name.ts";
import { parseResourceName, serviceWords } from "../domain/resource-name.ts";
import { fault } from "../faults.ts";
import type { ResourceType } from "./checks.ts";

/** What an ARN in a request names. */
export interface ArnTarget {
  readonly account: string;
  readonly resource: NamedResource;
  readonly resourceType: ResourceType;
}

const resourceTypes = {
  environment: "ENVIRONMENT",
  application: "APPLICATION",
  service: "SERVICE",
  route: "ROUTE",
} as const;

/** Reads an ARN of any resource of this service, in either dialect's words. Throws ARN_INVALID. */
export const resourceOf = (text: string): ArnTarget => {
  const parsed = parseArn(text);
  const isOurs = parsed !== undefined && serviceWords.includes(parsed.service) && parsed.account !== "";
  const resource = isOurs ? parseResourceName(parsed.resource) : undefined;
  if (parsed === undefined || resource === undefined)
    throw fault(ErrorReason.ARN_INVALID, { arn: text, expected: "a resource of this service" });
  return { account: parsed.account, resource, resourceType: resourceTypes[resource.kind] };
};

/** Reads the ARN of an environment; answers its id and account. Throws ARN_INVALID. */
export const environmentOf = (text: string): { readonly environmentId: string; readonly account: string } => {
  const { account, resource } = resourceOf(text);
  if (resource.kind !== "environment") throw fault(ErrorReason.ARN_INVALID, { arn: text, expected: "an environment" });
  return { environmentId: resource.environmentId, account };
};
