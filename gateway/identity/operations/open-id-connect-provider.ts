import type { Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { OpenIdConnectProviderRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { OpenIdConnectProviderRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  AddClientIDToOpenIDConnectProviderRequest,
  CreateOpenIDConnectProviderRequest,
  DeleteOpenIDConnectProviderRequest,
  GetOpenIDConnectProviderRequest,
  ListOpenIDConnectProvidersRequest,
  RemoveClientIDFromOpenIDConnectProviderRequest,
  UpdateOpenIDConnectProviderThumbprintRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import type { IdentityProvider } from "../../../services/kit/accounts/accounts.ts";
import { providerArn, providerName } from "../../../services/kit/accounts/provider-arn.ts";
import { inPublicPartition } from "../../../services/kit/arn/arn.ts";
import type { Context } from "../application.ts";
import type { AccountState, Change } from "../domain/account-state.ts";
import { exceeded, noSuch, withTags } from "../domain/entities.ts";
import { findProviderByArn, issuerProblem } from "../domain/open-id-connect-providers.ts";
import { ErrorReason, fault } from "../faults.ts";
import { limits } from "../limits.ts";
import { tagList, tagOperations } from "./tags.ts";

const kind = "OpenID Connect provider";

type ProviderTagsRequest = Message & { readonly openIdConnectProviderArn?: string };

/**
 * Creates a provider. Nothing is asked of it before the first token is shown. Refuses, in this order: INVALID_VALUE,
 * LIMIT_EXCEEDED of its members, ENTITY_EXISTS, LIMIT_EXCEEDED, INVALID_VALUE of its tags.
 */
export const createOpenIDConnectProvider = async (
  { url: issuer = "", clientIdList, thumbprintList, tags }: CreateOpenIDConnectProviderRequest,
  { app, caller }: Context,
) => {
  const problem = issuerProblem(issuer, app.allowsHttpIssuers);
  if (problem !== undefined) throw fault(ErrorReason.INVALID_VALUE, { problem });
  const members = { clientIds: checkedClientIds(clientIdList), thumbprints: checkedThumbprints(thumbprintList) };
  const { accountId } = caller;
  return app.identities.change(accountId, (state) => {
    const name = providerName(issuer);
    const isTaken = state.identityProvider.has(name.toLowerCase());
    if (isTaken || findDeclared(app, accountId, providerArn(accountId, issuer)) !== undefined)
      throw fault(ErrorReason.ENTITY_EXISTS, { kind, entity: issuer });
    const { identityProvidersMax } = limits;
    if (state.identityProvider.size >= identityProvidersMax) throw exceeded("OIDC providers", identityProvidersMax);
    const record = create(OpenIdConnectProviderRecordSchema, {
      name,
      issuer,
      ...members,
      createdMs: BigInt(app.clock.now()),
      tags: withTags({}, tags),
    });
    const openIdConnectProviderArn = providerArn(accountId, issuer);
    return { changes: [put(record)], result: { openIdConnectProviderArn, tags: tagList(record.tags) } };
  });
};

/** Returns a provider. Refuses: NO_SUCH_ENTITY. */
export const getOpenIDConnectProvider = async (
  { openIdConnectProviderArn = "" }: GetOpenIDConnectProviderRequest,
  context: Context,
) => {
  const { accountId } = context.caller;
  const declared = findDeclared(context.app, accountId, openIdConnectProviderArn);
  if (declared !== undefined)
    return {
      url: providerName(declared.issuer),
      clientIdList: [...declared.audiences],
      thumbprintList: [],
      createDate: timestampFromMs(0),
      tags: [],
    };
  const record = getProvider(accountId, context.app.identities.state(accountId), openIdConnectProviderArn);
  return {
    url: record.name,
    clientIdList: record.clientIds,
    thumbprintList: record.thumbprints,
    createDate: timestampFromMs(Number(record.createdMs)),
    tags: tagList(record.tags),
  };
};

/** Lists the providers of the account. */
export const listOpenIDConnectProviders = async (
  _request: ListOpenIDConnectProvidersRequest,
  { app, caller: { accountId } }: Context,
) => {
  const declared = app.accounts.listIdentityProviders(accountId).map(({ arn }) => arn);
  const stored = [...app.identities.state(accountId).identityProvider.values()].map(({ issuer }) =>
    providerArn(accountId, issuer),
  );
  const arns = [...new Set([...declared, ...stored])].toSorted();
  return { openIdConnectProviderList: arns.map((arn) => ({ arn })) };
};

/** Adds an audience. Refuses, in this order: DECLARED_ENTITY, NO_SUCH_ENTITY, LIMIT_EXCEEDED. */
export const addClientIDToOpenIDConnectProvider = async (
  { openIdConnectProviderArn, clientId = "" }: AddClientIDToOpenIDConnectProviderRequest,
  context: Context,
) =>
  changeProvider(context, openIdConnectProviderArn, (provider) => ({
    ...provider,
    clientIds: checkedClientIds([...provider.clientIds, clientId]),
  }));

/** Removes an audience. Refuses, in this order: DECLARED_ENTITY, NO_SUCH_ENTITY. */
export const removeClientIDFromOpenIDConnectProvider = async (
  { openIdConnectProviderArn, clientId }: RemoveClientIDFromOpenIDConnectProviderRequest,
  context: Context,
) =>
  changeProvider(context, openIdConnectProviderArn, (provider) => ({
    ...provider,
    clientIds: provider.clientIds.filter((each) => each !== clientId),
  }));

/** Replaces the thumbprints. Refuses, in this order: LIMIT_EXCEEDED, DECLARED_ENTITY, NO_SUCH_ENTITY. */
export const updateOpenIDConnectProviderThumbprint = async (
  { openIdConnectProviderArn, thumbprintList }: UpdateOpenIDConnectProviderThumbprintRequest,
  context: Context,
) => {
  const thumbprints = checkedThumbprints(thumbprintList);
  return changeProvider(context, openIdConnectProviderArn, (provider) => ({ ...provider, thumbprints }));
};

/** Deletes a provider, also one that is not there. Refuses: DECLARED_ENTITY. */
export const deleteOpenIDConnectProvider = async (
  { openIdConnectProviderArn = "" }: DeleteOpenIDConnectProviderRequest,
  { app, caller: { accountId } }: Context,
) => {
  refuseDeclared(app, accountId, openIdConnectProviderArn);
  return app.identities.change(accountId, (state) => {
    const found = findProviderByArn(accountId, state, openIdConnectProviderArn);
    if (found === undefined) return { changes: [], result: {} };
    return {
      changes: [{ kind: "identityProvider", name: found.name.toLowerCase(), record: undefined }],
      result: {},
    };
  });
};

/** The operations on the tags of a provider. */
export const openIDConnectProviderTags = tagOperations({
  kind: "identityProvider",
  nameOf: ({ openIdConnectProviderArn }: ProviderTagsRequest) => openIdConnectProviderArn,
  getChangeable: ({ app, caller: { accountId } }, state, { openIdConnectProviderArn = "" }) => {
    refuseDeclared(app, accountId, openIdConnectProviderArn);
    return getProvider(accountId, state, openIdConnectProviderArn);
  },
  read: ({ app, caller: { accountId } }, { openIdConnectProviderArn = "" }) =>
    findDeclared(app, accountId, openIdConnectProviderArn) === undefined
      ? tagList(getProvider(accountId, app.identities.state(accountId), openIdConnectProviderArn).tags)
      : [],
});

const changeProvider = (
  { app, caller: { accountId } }: Context,
  arn = "",
  change: (provider: OpenIdConnectProviderRecord) => OpenIdConnectProviderRecord,
) => {
  refuseDeclared(app, accountId, arn);
  return app.identities.change(accountId, (state) => ({
    changes: [put(change(getProvider(accountId, state, arn)))],
    result: {},
  }));
};

const put = (record: OpenIdConnectProviderRecord): Change => ({
  kind: "identityProvider",
  name: record.name.toLowerCase(),
  record,
});

const getProvider = (accountId: string, state: AccountState, arn: string): OpenIdConnectProviderRecord => {
  const found = findProviderByArn(accountId, state, arn);
  if (found === undefined) throw noSuch(kind, arn);
  return found;
};

const findDeclared = ({ accounts }: Context["app"], accountId: string, arn: string): IdentityProvider | undefined =>
  accounts.listIdentityProviders(accountId).find((each) => each.arn === inPublicPartition(arn));

const refuseDeclared = (app: Context["app"], accountId: string, arn: string): void => {
  if (findDeclared(app, accountId, arn) !== undefined) throw fault(ErrorReason.DECLARED_ENTITY, { kind, entity: arn });
};

const checkedClientIds = (given: readonly string[]): string[] => {
  const clientIds = [...new Set(given)];
  const { clientIdsPerProviderMax } = limits;
  if (clientIds.length > clientIdsPerProviderMax)
    throw exceeded("client IDs of an OIDC provider", clientIdsPerProviderMax);
  return clientIds;
};

const checkedThumbprints = (given: readonly string[]): string[] => {
  const { thumbprintsPerProviderMax } = limits;
  if (given.length > thumbprintsPerProviderMax)
    throw exceeded("thumbprints of an OIDC provider", thumbprintsPerProviderMax);
  return [...given];
};
