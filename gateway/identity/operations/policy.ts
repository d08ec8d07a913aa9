import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { PolicyRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { PolicyRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  CreatePolicyRequest,
  DeletePolicyRequest,
  GetPolicyRequest,
  GetPolicyVersionRequest,
  ListPoliciesRequest,
  ListPolicyVersionsRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { idAlphabet } from "../../../services/kit/identity/principal-ids.ts";
import type { Context } from "../application.ts";
import type { AccountState } from "../domain/account-state.ts";
import { charactersOf, identityDocument } from "../domain/documents.ts";
import type { Holder } from "../domain/entities.ts";
import { assertFree, conflict, entityArn, exceeded, heldBy, noSuch, policyByArn } from "../domain/entities.ts";
import { limits } from "../limits.ts";
import { pageOf } from "./listing.ts";

const onlyVersion = "v1";

/** Creates a managed policy. Refuses, in this order: MALFORMED_POLICY, LIMIT_EXCEEDED, ENTITY_EXISTS. */
export const createPolicy = async (request: CreatePolicyRequest, { app, caller }: Context) => {
  const { policyName: name = "", path = "/", policyDocument = "", description } = request;
  const { accountId } = caller;
  const document = identityDocument(policyDocument);
  const { managedPolicyCharactersMax, policiesMax } = limits;
  if (charactersOf(document) > managedPolicyCharactersMax) throw exceeded("PolicySize", managedPolicyCharactersMax);
  return app.identities.change(accountId, (state) => {
    assertFree(app.accounts, accountId, state, "policy", name, policiesMax);
    const id = `ANPA${app.ids.token(17, idAlphabet)}`;
    const createdMs = BigInt(app.clock.now());
    const own = { name, path, id, createdMs, document, ...(description === undefined ? {} : { description }) };
    const record = create(PolicyRecordSchema, own);
    return {
      changes: [{ kind: "policy", name: name.toLowerCase(), record }],
      result: { policy: policyMessage(accountId, record, state) },
    };
  });
};

/** Returns a managed policy. Refuses: NO_SUCH_ENTITY. */
export const getPolicy = async ({ policyArn = "" }: GetPolicyRequest, { app, caller }: Context) => {
  const state = app.identities.state(caller.accountId);
  return { policy: policyMessage(caller.accountId, policyByArn(caller.accountId, state, policyArn), state) };
};

/** Returns the document of a managed policy. Refuses: NO_SUCH_ENTITY. */
export const getPolicyVersion = async (
  { policyArn = "", versionId = "" }: GetPolicyVersionRequest,
  { app, caller }: Context,
) => {
  const record = policyByArn(caller.accountId, app.identities.state(caller.accountId), policyArn);
  if (versionId !== onlyVersion) throw noSuch("policy version", versionId);
  return { policyVersion: { ...versionMessage(record), document: record.document } };
};

/** Lists the one version of a managed policy. Refuses: NO_SUCH_ENTITY. */
export const listPolicyVersions = async (request: ListPolicyVersionsRequest, context: Context) => {
  const { app, caller } = context;
  const record = policyByArn(caller.accountId, app.identities.state(caller.accountId), request.policyArn ?? "");
  const all = [versionMessage(record)];
  const { items, ...page } = pageOf(context, request, all, ({ versionId }) => versionId, [request.policyArn]);
  return { versions: [...items], ...page };
};

/** Lists the managed policies of the account. */
export const listPolicies = async (request: ListPoliciesRequest, context: Context) => {
  const { accountId } = context.caller;
  const state = context.app.identities.state(accountId);
  const { pathPrefix, scope, onlyAttached = false } = request;
  const all = [...(scope === "AWS" ? [] : state.policy.values())]
    .filter(({ path }) => path.startsWith(pathPrefix ?? ""))
    .map((record) => policyMessage(accountId, record, state))
    .filter(({ attachmentCount }) => !onlyAttached || attachmentCount > 0);
  const filters = [pathPrefix, scope, String(onlyAttached)];
  const { items, ...page } = pageOf(context, request, all, ({ policyName }) => policyName, filters);
  return { policies: [...items], ...page };
};

/** Deletes a managed policy. Refuses, in this order: NO_SUCH_ENTITY, DELETE_CONFLICT. */
export const deletePolicy = async ({ policyArn = "" }: DeletePolicyRequest, { app, caller }: Context) =>
  app.identities.change(caller.accountId, (state) => {
    const record = policyByArn(caller.accountId, state, policyArn);
    if (attachmentsOf(record, state) > 0) throw conflict("detach the policy from all entities");
    return { changes: [{ kind: "policy", name: record.name.toLowerCase(), record: undefined }], result: {} };
  });

const attachmentsOf = ({ name }: PolicyRecord, state: AccountState): number => {
  const holders: Holder[] = [...state.user.values(), ...state.group.values(), ...state.role.values()];
  return holders.filter((holder) => heldBy(holder).attached.includes(name)).length;
};

const policyMessage = (accountId: string, record: PolicyRecord, state: AccountState) => ({
  policyName: record.name,
  policyId: record.id,
  arn: entityArn(accountId, "policy", record),
  path: record.path,
  defaultVersionId: onlyVersion,
  attachmentCount: attachmentsOf(record, state),
  isAttachable: true,
  ...(record.description === undefined ? {} : { description: record.description }),
  createDate: timestampFromMs(Number(record.createdMs)),
  updateDate: timestampFromMs(Number(record.createdMs)),
});

const versionMessage = ({ createdMs }: PolicyRecord) => ({
  versionId: onlyVersion,
  isDefaultVersion: true,
  createDate: timestampFromMs(Number(createdMs)),
});
