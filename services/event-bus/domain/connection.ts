import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  ConnectionAuthDescriptionSchema,
  ConnectionHttpParameters,
  ConnectionHttpParametersSchema,
  CreateConnectionAuthParameters,
} from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import { ConnectionAuthorizationType } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import { ErrorReason, fault } from "../faults.ts";

/** Refuses parameters that do not fit the type of authorization, or name a private network. Throws PARAMETER_REFUSED. */
export const refuseAuthParameters = (
  type: ConnectionAuthorizationType,
  parameters: CreateConnectionAuthParameters,
): void => {
  const given = [
    [ConnectionAuthorizationType.BASIC, parameters.basicAuthParameters, "BasicAuthParameters"],
    [ConnectionAuthorizationType.API_KEY, parameters.apiKeyAuthParameters, "ApiKeyAuthParameters"],
    [ConnectionAuthorizationType.OAUTH_CLIENT_CREDENTIALS, parameters.oAuthParameters, "OAuthParameters"],
  ] as const;
  for (const [needing, value, name] of given) {
    if (needing === type && value === undefined) throw refused(`${name} is required for this AuthorizationType.`);
    if (needing !== type && value !== undefined) throw refused(`${name} does not fit this AuthorizationType.`);
  }
  if (parameters.connectivityParameters !== undefined) throw refused("private networks are not offered.");
  const endpoint = parameters.oAuthParameters?.authorizationEndpoint;
  if (endpoint !== undefined && !isHttpUrl(endpoint)) throw refused("AuthorizationEndpoint is not an HTTP URL.");
};

/** True for a URL that can be requested; whether it may be is decided when it is. */
export const isHttpUrl = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "https:" || url.protocol === "http:");
};

const refused = (reason: string): Error =>
  fault(ErrorReason.PARAMETER_REFUSED, { parameter: "AuthParameters", reason });

/** The parameters as callers may see them: names, never secrets. */
export const describeAuth = (
  parameters: CreateConnectionAuthParameters,
): MessageInitShape<typeof ConnectionAuthDescriptionSchema> => {
  const { basicAuthParameters, apiKeyAuthParameters, oAuthParameters, invocationHttpParameters } = parameters;
  return {
    ...(basicAuthParameters && { basicAuthParameters: { username: basicAuthParameters.username } }),
    ...(apiKeyAuthParameters && { apiKeyAuthParameters: { apiKeyName: apiKeyAuthParameters.apiKeyName } }),
    ...(oAuthParameters && {
      oAuthParameters: {
        clientParameters: { clientId: oAuthParameters.clientParameters?.clientId ?? "" },
        authorizationEndpoint: oAuthParameters.authorizationEndpoint,
        httpMethod: oAuthParameters.httpMethod,
        ...(oAuthParameters.oAuthHttpParameters && {
          oAuthHttpParameters: describeHttp(oAuthParameters.oAuthHttpParameters),
        }),
      },
    }),
    ...(invocationHttpParameters && { invocationHttpParameters: describeHttp(invocationHttpParameters) }),
  };
};

interface Parameter {
  readonly key?: string;
  readonly value?: string;
  readonly isValueSecret?: boolean;
}

const describeHttp = (
  parameters: ConnectionHttpParameters,
): MessageInitShape<typeof ConnectionHttpParametersSchema> => ({
  headerParameters: parameters.headerParameters.map(hideSecret),
  queryStringParameters: parameters.queryStringParameters.map(hideSecret),
  bodyParameters: parameters.bodyParameters.map(hideSecret),
});

const hideSecret = ({ key, value, isValueSecret }: Parameter): Parameter =>
  isValueSecret === true ? { key, isValueSecret } : { key, value, isValueSecret: isValueSecret ?? false };
