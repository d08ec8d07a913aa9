import type { FunctionEndpoint, UrlEndpoint } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import { ServiceEndpointType } from "../../../gen/quartet/refactoringworkspace/v1/service_pb.ts";

/** What a caller says about a service's endpoint. */
export interface EndpointWish {
  readonly endpointType?: ServiceEndpointType;
  readonly urlEndpoint?: UrlEndpoint;
  readonly functionEndpoint?: FunctionEndpoint;
}

/** Why an endpoint cannot be; undefined: it can. Addresses are not resolved here: that is the health check's work. */
export const findEndpointProblem = (wish: EndpointWish): string | undefined => {
  if (wish.endpointType === ServiceEndpointType.FUNCTION) {
    if (wish.urlEndpoint !== undefined) return "UrlEndpoint is given for the type FUNCTION";
    return wish.functionEndpoint === undefined ? "FunctionEndpoint is missing for the type FUNCTION" : undefined;
  }
  if (wish.functionEndpoint !== undefined) return "FunctionEndpoint is given for the type URL";
  if (wish.urlEndpoint === undefined) return "UrlEndpoint is missing for the type URL";
  return findUrlProblem("Url", wish.urlEndpoint.url) ?? findUrlProblem("HealthUrl", wish.urlEndpoint.healthUrl);
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
