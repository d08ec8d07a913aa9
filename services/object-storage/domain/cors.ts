import { toBinary } from "@bufbuild/protobuf";

import type { CorsConfiguration, CorsRule } from "../../../gen/quartet/objectstorage/v1/cors_pb.ts";
import { CorsConfigurationSchema } from "../../../gen/quartet/objectstorage/v1/cors_pb.ts";
import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault, invalidArgument, invalidRequest } from "../faults.ts";
import { limits } from "../limits.ts";

const methods = new Set(["GET", "PUT", "HEAD", "POST", "DELETE"]);
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** The empty text is an origin that no request has. */
const originText = /^[\x21-\x7e]*$/;

/**
 * The CORS rules of a bucket, as they are stored. Checks, in order:
 *  1. the document follows its schema (MALFORMED_XML);
 *  2. it is not too large (MESSAGE_TOO_LARGE) and has not too many rules (INVALID_REQUEST);
 *  3. for each rule: the length of its id (INVALID_ARGUMENT); its methods, origins and headers, which have at most one
 *     wildcard, exposed headers none (INVALID_REQUEST); its maximum age (INVALID_ARGUMENT).
 */
export const planCors = (configuration: CorsConfiguration | undefined): CorsConfiguration => {
  const rules = configuration?.corsrules ?? [];
  if (configuration === undefined || rules.length === 0 || !rules.every(followsSchema))
    throw fault(ErrorReason.MALFORMED_XML);
  if (toBinary(CorsConfigurationSchema, configuration).length > limits.corsBytesMax)
    throw fault(ErrorReason.MESSAGE_TOO_LARGE, { limit_bytes: String(limits.corsBytesMax) });
  if (rules.length > limits.corsRulesMax)
    throw invalidRequest(`The number of CORS rules should not exceed allowed limit of ${limits.corsRulesMax} rules.`);
  for (const rule of rules) checkRule(rule);
  return configuration;
};

const followsSchema = (rule: CorsRule): boolean => rule.allowedMethods.length > 0 && rule.allowedOrigins.length > 0;

const checkRule = (rule: CorsRule): void => {
  if ((rule.id ?? "").length > limits.corsRuleIdLengthMax)
    throw invalidArgument(
      "ID",
      rule.id ?? "",
      `The ID of a rule must not exceed ${limits.corsRuleIdLengthMax} characters.`,
    );
  for (const method of rule.allowedMethods)
    if (!methods.has(method))
      throw invalidRequest(`Found unsupported HTTP method in CORS config. Unsupported method is ${method}`);
  for (const origin of rule.allowedOrigins) checkPattern("AllowedOrigin", origin, originText);
  for (const header of rule.allowedHeaders) checkPattern("AllowedHeader", header, headerName);
  for (const header of rule.exposeHeaders) {
    if (header.includes("*"))
      throw invalidRequest(
        `ExposeHeader "${header}" contains wildcard. We currently do not support wildcard for ExposeHeader.`,
      );
    if (!headerName.test(header)) throw invalidRequest(`ExposeHeader "${header}" is not a header name.`);
  }
  if ((rule.maxAgeSeconds ?? 0) < 0)
    throw invalidArgument("MaxAgeSeconds", String(rule.maxAgeSeconds), "MaxAgeSeconds must not be negative.");
};

const checkPattern = (member: string, text: string, shape: RegExp): void => {
  if (text.split("*").length > 2) throw invalidRequest(`${member} "${text}" can not have more than one wildcard.`);
  if (!shape.test(text)) throw invalidRequest(`${member} "${text}" cannot be compared with a header.`);
};
