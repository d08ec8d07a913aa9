import type { FunctionEndpoint, UrlEndpoint } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import { ServiceEndpointType } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";

/** The members of a request that describe a service's endpoint. */
export interface RequestedEndpoint {
  readonly endpointType?: ServiceEndpointType;
  readonly urlEndpoint?: UrlEndpoint;
  readonly functionEndpoint?: FunctionEndpoint;
}

/** Why an endpoint is not valid; undefined if it is. Names are not resolved here, but by the health check. */
export const findEndpointProblem = (requested: RequestedEndpoint): string | undefined => {
  if (requested.endpointType === ServiceEndpointType.FUNCTION) {
    if (requested.urlEndpoint !== undefined) return "UrlEndpoint is given for the type FUNCTION";
    return requested.functionEndpoint === undefined ? "FunctionEndpoint is missing for the type FUNCTION" : undefined;
  }
  if (requested.functionEndpoint !== undefined) return "FunctionEndpoint is given for the type URL";
  if (requested.urlEndpoint === undefined) return "UrlEndpoint is missing for the type URL";
  return (
    findUrlProblem("Url", requested.urlEndpoint.url) ?? findUrlProblem("HealthUrl", requested.urlEndpoint.healthUrl)
  );
};

const findUrlProblem = (member: string, text: string | undefined): string | undefined => {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url === null || url.hostname === "") return `${member} is not a URL`;
  if (url.username !== "" || url.password !== "") return `${member} carries a user name`;
  if (url.hash !== "") return `${member} has a fragment`;
  if (url.port === "0") return `${member} names port 0`;
  return undefined;
};
