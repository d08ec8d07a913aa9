import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { PolicyRecord, PolicyVersionRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  CreatePolicyVersionRequest,
  DeletePolicyVersionRequest,
  GetPolicyVersionRequest,
  ListPolicyVersionsRequest,
  SetDefaultPolicyVersionRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import type { Context } from "../application.ts";
import { policyByArn } from "../domain/entities.ts";
import { checkedManaged, getVersion, versionId, withoutVersion, withVersion } from "../domain/policy-versions.ts";
import { pageOf } from "./listing.ts";

/** Adds a version. Refuses, in this order: MALFORMED_POLICY, LIMIT_EXCEEDED, NO_SUCH_ENTITY, LIMIT_EXCEEDED. */
export const createPolicyVersion = async (
  { policyArn = "", policyDocument = "", setAsDefault = false }: CreatePolicyVersionRequest,
  context: Context,
) => {
  const document = checkedManaged(policyDocument);
  return changePolicy(context, policyArn, (former) => {
    const { policy, added } = withVersion(former, document, context.app.clock.now());
    const changed = setAsDefault ? { ...policy, defaultVersion: added.number } : policy;
    return { policy: changed, result: { policyVersion: versionMessage(changed, added) } };
  });
};

/** Returns the document of a version. Refuses: NO_SUCH_ENTITY. */
export const getPolicyVersion = async (request: GetPolicyVersionRequest, { app, caller }: Context) => {
  const { policyArn = "", versionId: id = "" } = request;
  const policy = policyByArn(caller.accountId, app.identities.state(caller.accountId), policyArn);
  const version = getVersion(policy, id);
  return { policyVersion: { ...versionMessage(policy, version), document: version.document } };
};

/** Lists the versions of a managed policy, the newest first. Refuses: NO_SUCH_ENTITY. */
export const listPolicyVersions = async (request: ListPolicyVersionsRequest, context: Context) => {
  const { app, caller } = context;
  const { policyArn = "" } = request;
  const policy = policyByArn(caller.accountId, app.identities.state(caller.accountId), policyArn);
  const newestFirst = ({ number }: PolicyVersionRecord): string => String(2 ** 31 - number).padStart(10, "0");
  const { items, ...page } = pageOf(context, request, policy.versions, newestFirst, [policyArn]);
  return { versions: items.map((version) => versionMessage(policy, version)), ...page };
};

/** Makes a version the default one. Refuses: NO_SUCH_ENTITY. */
export const setDefaultPolicyVersion = async (
  { policyArn = "", versionId: id = "" }: SetDefaultPolicyVersionRequest,
  context: Context,
) =>
  changePolicy(context, policyArn, (policy) => ({
    policy: { ...policy, defaultVersion: getVersion(policy, id).number },
    result: {},
  }));

/** Deletes a version. Refuses, in this order: NO_SUCH_ENTITY, DELETE_CONFLICT. */
export const deletePolicyVersion = async (
  { policyArn = "", versionId: id = "" }: DeletePolicyVersionRequest,
  context: Context,
) => changePolicy(context, policyArn, (policy) => ({ policy: withoutVersion(policy, id), result: {} }));

const changePolicy = <T>(
  { app, caller }: Context,
  policyArn: string,
  decide: (policy: PolicyRecord) => { readonly policy: PolicyRecord; readonly result: T },
): Promise<T> =>
  app.identities.change(caller.accountId, (state) => {
    const former = policyByArn(caller.accountId, state, policyArn);
    const { policy, result } = decide(former);
    return { changes: [{ kind: "policy", name: former.name.toLowerCase(), record: policy }], result };
  });

export const versionMessage = (policy: PolicyRecord, version: PolicyVersionRecord) => ({
  versionId: versionId(version),
  isDefaultVersion: version.number === policy.defaultVersion,
  createDate: timestampFromMs(Number(version.createdMs)),
});
