import { ErrorReason } from "../../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { parseArn } from "../../kit/arn/arn.ts";
import { fault } from "../faults.ts";

/** A resource that can have tags. */
export type TaggedResource = { readonly domainName: string } & (
  | { readonly kind: "domain" }
  | { readonly kind: "objectType"; readonly objectTypeName: string }
  | { readonly kind: "integration"; readonly uri: string }
);

/** Reads the ARN of a resource that can have tags. Throws RESOURCE_ARN_INVALID. */
export const parseTaggedArn = (
  resourceArn: string,
): { readonly accountId: string; readonly resource: TaggedResource } => {
  const parsed = parseArn(resourceArn);
  const resource = parsed?.service === "profile" ? parseResourceName(parsed.resource) : undefined;
  if (parsed === undefined || resource === undefined)
    throw fault(ErrorReason.RESOURCE_ARN_INVALID, { resource_arn: resourceArn });
  return { accountId: parsed.account, resource };
};

/**
 * Reads `domains/<domain>`, optionally followed by `/object-types/<type>` or `/integrations/<uri>`; the uri may contain
 * colons and slashes. Undefined for anything else.
 */
export const parseResourceName = (text: string): TaggedResource | undefined => {
  const match = /^domains\/([^/]+)(?:\/(object-types|integrations)\/(.+))?$/s.exec(text);
  if (match === null) return undefined;
  const [, domainName = "", collection, name = ""] = match;
  if (collection === undefined) return { domainName, kind: "domain" };
  if (collection === "integrations") return { domainName, kind: "integration", uri: name };
  return name.includes("/") ? undefined : { domainName, kind: "objectType", objectTypeName: name };
};
