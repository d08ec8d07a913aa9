import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type {
  ConnectionAuthDescriptionSchema,
  ConnectionHttpParameters,
  ConnectionHttpParametersSchema,
  CreateConnectionAuthParameters,
  UpdateConnectionAuthParameters,
} from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import {
  ConnectionAuthorizationType,
  ConnectionOAuthHttpMethod,
  CreateConnectionAuthParametersSchema,
} from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
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

/**
 * The parameters after an update: what is given wins, and what belongs to another type of authorization goes. Undefined
 * members were not given.
 */
export const updateAuthParameters = (
  type: ConnectionAuthorizationType,
  present: CreateConnectionAuthParameters | undefined,
  update: UpdateConnectionAuthParameters,
): CreateConnectionAuthParameters => {
  const { basicAuthParameters: basic, apiKeyAuthParameters: apiKey, oAuthParameters: oauth } = update;
  const held = present?.oAuthParameters;
  const httpParameters = update.invocationHttpParameters ?? present?.invocationHttpParameters;
  return create(CreateConnectionAuthParametersSchema, {
    ...(type === ConnectionAuthorizationType.BASIC && {
      basicAuthParameters: {
        username: basic?.username ?? present?.basicAuthParameters?.username ?? "",
        password: basic?.password ?? present?.basicAuthParameters?.password ?? "",
      },
    }),
    ...(type === ConnectionAuthorizationType.API_KEY && {
      apiKeyAuthParameters: {
        apiKeyName: apiKey?.apiKeyName ?? present?.apiKeyAuthParameters?.apiKeyName ?? "",
        apiKeyValue: apiKey?.apiKeyValue ?? present?.apiKeyAuthParameters?.apiKeyValue ?? "",
      },
    }),
    ...(type === ConnectionAuthorizationType.OAUTH_CLIENT_CREDENTIALS && {
      oAuthParameters: {
        clientParameters: {
          clientId: oauth?.clientParameters?.clientId ?? held?.clientParameters?.clientId ?? "",
          clientSecret: oauth?.clientParameters?.clientSecret ?? held?.clientParameters?.clientSecret ?? "",
        },
        authorizationEndpoint: oauth?.authorizationEndpoint ?? held?.authorizationEndpoint ?? "",
        httpMethod: oauth?.httpMethod || held?.httpMethod || ConnectionOAuthHttpMethod.POST,
        oAuthHttpParameters: oauth?.oAuthHttpParameters ?? held?.oAuthHttpParameters,
      },
    }),
    invocationHttpParameters: httpParameters,
  });
};

/** Refuses an update that leaves a connection without what its type of authorization needs. Throws PARAMETER_REFUSED. */
export const refuseIncomplete = (parameters: CreateConnectionAuthParameters): void => {
  const { basicAuthParameters: basic, apiKeyAuthParameters: apiKey, oAuthParameters: oauth } = parameters;
  const needed = [
    ...(basic === undefined ? [] : [basic.username, basic.password]),
    ...(apiKey === undefined ? [] : [apiKey.apiKeyName, apiKey.apiKeyValue]),
    ...(oauth === undefined
      ? []
      : [oauth.clientParameters?.clientId, oauth.clientParameters?.clientSecret, oauth.authorizationEndpoint]),
  ];
  if (needed.some((value) => value === undefined || value === ""))
    throw refused("what this AuthorizationType needs is neither given nor stored.");
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
