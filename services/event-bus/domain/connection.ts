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

/** Throws PARAMETER_REFUSED for parameters that do not fit the type of authorization or name a private network. */
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
 * The parameters after an update: given members replace stored ones, undefined members do not. Members of another type
 * of authorization are removed.
 */
export const updateAuthParameters = (
  type: ConnectionAuthorizationType,
  present: CreateConnectionAuthParameters | undefined,
  update: UpdateConnectionAuthParameters,
): CreateConnectionAuthParameters => {
  const { basicAuthParameters: basic, apiKeyAuthParameters: apiKey, oAuthParameters: oauth } = update;
  const presentOAuth = present?.oAuthParameters;
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
          clientId: oauth?.clientParameters?.clientId ?? presentOAuth?.clientParameters?.clientId ?? "",
          clientSecret: oauth?.clientParameters?.clientSecret ?? presentOAuth?.clientParameters?.clientSecret ?? "",
        },
        authorizationEndpoint: oauth?.authorizationEndpoint ?? presentOAuth?.authorizationEndpoint ?? "",
        httpMethod: oauth?.httpMethod || presentOAuth?.httpMethod || ConnectionOAuthHttpMethod.POST,
        oAuthHttpParameters: oauth?.oAuthHttpParameters ?? presentOAuth?.oAuthHttpParameters,
      },
    }),
    invocationHttpParameters: httpParameters,
  });
};

/** Throws PARAMETER_REFUSED if a parameter that the type of authorization needs is neither given nor stored. */
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

/** Whether the text is an HTTP URL. Whether it may be requested is decided with each request. */
export const isHttpUrl = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "https:" || url.protocol === "http:");
};

const refused = (reason: string): Error =>
  fault(ErrorReason.PARAMETER_REFUSED, { parameter: "AuthParameters", reason });

/** The parameters that callers may see: names, never secrets. */
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
