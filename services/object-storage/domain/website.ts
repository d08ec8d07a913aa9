import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { RoutingRule, WebsiteConfiguration } from "../../../gen/quartet/objectstorage/v1/website_pb.ts";
import { fault, invalidArgument, invalidRequest } from "../faults.ts";
import { limits } from "../limits.ts";

const protocols = new Set(["http", "https"]);

/**
 * A website, as it is stored. Throws, in this order: MALFORMED_XML; INVALID_REQUEST for a redirect of all requests with
 * anything else; INVALID_ARGUMENT for a missing or malformed index or error document; INVALID_REQUEST for rules.
 */
export const planWebsite = (website: WebsiteConfiguration | undefined): WebsiteConfiguration => {
  if (website === undefined || website.routingRules.some(({ redirect }) => redirect === undefined))
    throw fault(ErrorReason.MALFORMED_XML);
  const { redirectAllRequestsTo: all, indexDocument: index, errorDocument, routingRules } = website;
  if (all !== undefined) {
    if (all.hostName === undefined || all.hostName === "") throw fault(ErrorReason.MALFORMED_XML);
    if (index !== undefined || errorDocument !== undefined || routingRules.length > 0)
      throw invalidRequest("RedirectAllRequestsTo cannot be provided in conjunction with other Routing Rules.");
    checkProtocol(all.protocol);
    return website;
  }
  if (index === undefined)
    throw invalidArgument(
      "IndexDocument",
      "",
      "A value for IndexDocument Suffix must be provided if RedirectAllRequestsTo is empty",
    );
  const { suffix = "" } = index;
  if (suffix === "" || suffix.includes("/"))
    throw invalidArgument("IndexDocument", suffix, "The IndexDocument Suffix is not well formed");
  if (errorDocument !== undefined && (errorDocument.key ?? "") === "")
    throw invalidArgument("ErrorDocument", "", "The ErrorDocument Key is not well formed");
  if (routingRules.length > limits.routingRulesMax)
    throw invalidRequest(
      `${routingRules.length} routing rules provided, the number of routing rules is limited to 50.`,
    );
  for (const rule of routingRules) checkRule(rule);
  return website;
};

const checkRule = ({ condition, redirect }: RoutingRule): void => {
  const { keyPrefixEquals, httpErrorCodeReturnedEquals: errorCode } = condition ?? {};
  if (condition !== undefined && keyPrefixEquals === undefined && errorCode === undefined)
    throw invalidRequest(
      "Condition cannot be empty. To redirect all requests without a condition, " +
        "the condition element shouldn't be present.",
    );
  if (errorCode !== undefined && !/^[45]\d\d$/.test(errorCode))
    throw invalidRequest(`The provided HTTP error code (${errorCode}) is not valid. Valid codes are 4XX or 5XX.`);
  if (redirect?.replaceKeyPrefixWith !== undefined && redirect.replaceKeyWith !== undefined)
    throw invalidRequest("You can only define ReplaceKeyPrefix or ReplaceKey but not both.");
  checkProtocol(redirect?.protocol);
  const code = redirect?.httpRedirectCode;
  if (code !== undefined && !/^3(?!00)\d\d$/.test(code))
    throw invalidRequest(`The provided HTTP redirect code (${code}) is not valid. Valid codes are 3XX except 300.`);
};

const checkProtocol = (protocol: string | undefined): void => {
  if (protocol !== undefined && !protocols.has(protocol))
    throw invalidRequest(
      "Invalid protocol, protocol can be http or https. If not defined the protocol will be selected automatically.",
    );
};
