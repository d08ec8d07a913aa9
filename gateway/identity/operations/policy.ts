import type { Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { PolicyRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { PolicyRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  CreatePolicyRequest,
  DeletePolicyRequest,
  GetPolicyRequest,
  ListEntitiesForPolicyRequest,
  ListPoliciesRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { idAlphabet } from "../../../services/kit/identity/principal-ids.ts";
import type { Context } from "../application.ts";
import type { AccountState } from "../domain/account-state.ts";
import { commonPolicies } from "../domain/common-policies.ts";
import type { Holder } from "../domain/entities.ts";
import { assertFree, conflict, heldBy, policyByArn, withTags } from "../domain/entities.ts";
import { policyArnOf, referenceTo } from "../domain/managed-policies.ts";
import { checkedManaged, versionId, withVersion } from "../domain/policy-versions.ts";
import { limits } from "../limits.ts";
import { pageOf } from "./listing.ts";
import { tagList, tagOperations } from "./tags.ts";

type PolicyTagsRequest = Message & { readonly policyArn?: string };

/** Creates a managed policy. Refuses, in this order: MALFORMED_POLICY, LIMIT_EXCEEDED, ENTITY_EXISTS, INVALID_VALUE. */
export const createPolicy = async (request: CreatePolicyRequest, { app, caller }: Context) => {
  const { policyName: name = "", path = "/", policyDocument = "", description, tags } = request;
  const { accountId } = caller;
  const document = checkedManaged(policyDocument);
  return app.identities.change(accountId, (state) => {
    assertFree(app.accounts, accountId, state, "policy", name, limits.policiesMax);
    const nowMs = app.clock.now();
    const empty = create(PolicyRecordSchema, {
      name,
      path,
      id: `ANPA${app.ids.token(17, idAlphabet)}`,
      createdMs: BigInt(nowMs),
      ...(description === undefined ? {} : { description }),
      tags: withTags({}, tags),
    });
    const { policy, added } = withVersion(empty, document, nowMs);
    const record = { ...policy, defaultVersion: added.number };
    return {
      changes: [{ kind: "policy", name: name.toLowerCase(), record }],
      result: { policy: { ...policyMessage(accountId, record, unused), tags: tagList(record.tags) } },
    };
  });
};

/** Returns a managed policy. Refuses: NO_SUCH_ENTITY. */
export const getPolicy = async ({ policyArn = "" }: GetPolicyRequest, { app, caller }: Context) => {
  const state = app.identities.state(caller.accountId);
  const record = policyByArn(caller.accountId, state, policyArn);
  return {
    policy: { ...policyMessage(caller.accountId, record, usesOf(record, state)), tags: tagList(record.tags) },
  };
};

/** Lists the managed policies of the account, and the common ones. */
export const listPolicies = async (request: ListPoliciesRequest, context: Context) => {
  const { accountId } = context.caller;
  const state = context.app.identities.state(accountId);
  const { pathPrefix, scope, onlyAttached = false, policyUsageFilter } = request;
  const common = scope === "Local" ? [] : commonPolicies.values();
  const own = scope === "AWS" ? [] : state.policy.values();
  const uses = allUses(state);
  const isListed = ({ attachments, boundaries }: PolicyUses): boolean =>
    (!onlyAttached || attachments > 0) &&
    (policyUsageFilter !== "PermissionsPolicy" || attachments > 0) &&
    (policyUsageFilter !== "PermissionsBoundary" || boundaries > 0);
  const all = [...common, ...own]
    .filter(({ path }) => path.startsWith(pathPrefix ?? ""))
    .map((record) => ({ record, used: uses.get(referenceTo(record)) ?? unused }))
    .filter(({ used }) => isListed(used))
    .map(({ record, used }) => policyMessage(accountId, record, used));
  const filters = [pathPrefix, scope, String(onlyAttached), policyUsageFilter];
  const { items, ...page } = pageOf(context, request, all, ({ policyName, arn }) => `${policyName} ${arn}`, filters);
  return { policies: [...items], ...page };
};

/** Lists what a managed policy is attached to, and what it is the boundary of. Refuses: NO_SUCH_ENTITY. */
export const listEntitiesForPolicy = async (request: ListEntitiesForPolicyRequest, context: Context) => {
  const { accountId } = context.caller;
  const { policyArn = "", entityFilter, pathPrefix = "", policyUsageFilter } = request;
  const state = context.app.identities.state(accountId);
  const reference = referenceTo(policyByArn(accountId, state, policyArn));
  const isMeant = (holder: Holder): boolean =>
    (policyUsageFilter !== "PermissionsBoundary" && hasAttached(holder, reference)) ||
    (policyUsageFilter !== "PermissionsPolicy" && hasBoundary(holder, reference));
  const all = (["Group", "User", "Role"] as const).flatMap((kind) =>
    (entityFilter ?? kind) === kind
      ? (holdersOf(state)[kind] as readonly Holder[])
          .filter((holder) => isMeant(holder) && holder.path.startsWith(pathPrefix))
          .map((holder) => ({ kind, name: holder.name, id: holder.id }))
      : [],
  );
  const positions = { Group: 0, User: 1, Role: 2 };
  const filters = [policyArn, entityFilter, pathPrefix, policyUsageFilter];
  const positionOf = (each: (typeof all)[number]): string => `${positions[each.kind]}${each.name}`;
  const { items, ...page } = pageOf(context, request, all, positionOf, filters);
  const ofKind = (kind: keyof typeof positions) => items.filter((item) => item.kind === kind);
  return {
    policyGroups: ofKind("Group").map((group) => ({ groupName: group.name, groupId: group.id })),
    policyUsers: ofKind("User").map((user) => ({ userName: user.name, userId: user.id })),
    policyRoles: ofKind("Role").map((role) => ({ roleName: role.name, roleId: role.id })),
    ...page,
  };
};

/** Deletes a managed policy. Refuses, in this order: NO_SUCH_ENTITY, DELETE_CONFLICT. */
export const deletePolicy = async ({ policyArn = "" }: DeletePolicyRequest, { app, caller }: Context) =>
  app.identities.change(caller.accountId, (state) => {
    const record = policyByArn(caller.accountId, state, policyArn);
    const { attachments, boundaries } = usesOf(record, state);
    if (attachments > 0) throw conflict("detach the policy from all entities");
    if (boundaries > 0) throw conflict("remove the permissions boundary from all entities");
    if (record.versions.length > 1) throw conflict("delete all versions of the policy but the default one");
    return { changes: [{ kind: "policy", name: record.name.toLowerCase(), record: undefined }], result: {} };
  });

/** The operations on the tags of a managed policy. */
export const policyTags = tagOperations({
  kind: "policy",
  nameOf: ({ policyArn }: PolicyTagsRequest) => policyArn,
  getChangeable: ({ caller }, state, { policyArn = "" }) => policyByArn(caller.accountId, state, policyArn),
  read: ({ app, caller }, { policyArn = "" }) =>
    tagList(policyByArn(caller.accountId, app.identities.state(caller.accountId), policyArn).tags),
});

/** Everything that policies can be attached to. */
const holdersOf = ({ user, group, role }: AccountState) => ({
  Group: [...group.values()],
  User: [...user.values()],
  Role: [...role.values()],
});

const hasAttached = (holder: Holder, reference: string): boolean => heldBy(holder).attached.includes(reference);

const hasBoundary = (holder: Holder, reference: string): boolean =>
  "permissionsBoundary" in holder && holder.permissionsBoundary === reference;

/** How many users, groups and roles have a policy attached, and of how many users and roles it is the boundary. */
export interface PolicyUses {
  readonly attachments: number;
  readonly boundaries: number;
}

export const unused: PolicyUses = { attachments: 0, boundaries: 0 };

const usesOf = (policy: PolicyRecord, state: AccountState): PolicyUses => {
  const reference = referenceTo(policy);
  const holders: readonly Holder[] = Object.values(holdersOf(state)).flat();
  return {
    attachments: holders.filter((holder) => hasAttached(holder, reference)).length,
    boundaries: holders.filter((holder) => hasBoundary(holder, reference)).length,
  };
};

/** The uses of each policy by the references to them, counted in one pass. A policy without any is not among them. */
export const allUses = (state: AccountState): ReadonlyMap<string, PolicyUses> => {
  const uses = new Map<string, PolicyUses>();
  const count = (reference: string, counted: PolicyUses): void => {
    const { attachments, boundaries } = uses.get(reference) ?? unused;
    uses.set(reference, {
      attachments: attachments + counted.attachments,
      boundaries: boundaries + counted.boundaries,
    });
  };
  const holders: readonly Holder[] = Object.values(holdersOf(state)).flat();
  for (const holder of holders) {
    for (const reference of heldBy(holder).attached) count(reference, { attachments: 1, boundaries: 0 });
    const boundary = "permissionsBoundary" in holder ? holder.permissionsBoundary : undefined;
    if (boundary !== undefined) count(boundary, { attachments: 0, boundaries: 1 });
  }
  return uses;
};

export const policyMessage = (accountId: string, record: PolicyRecord, { attachments, boundaries }: PolicyUses) => ({
  policyName: record.name,
  policyId: record.id,
  arn: policyArnOf(accountId, record),
  path: record.path,
  defaultVersionId: versionId({ number: record.defaultVersion }),
  attachmentCount: attachments,
  permissionsBoundaryUsageCount: boundaries,
  isAttachable: true,
  ...(record.description === undefined ? {} : { description: record.description }),
  createDate: timestampFromMs(Number(record.createdMs)),
  updateDate: timestampFromMs(Number(record.versions.at(-1)?.createdMs ?? record.createdMs)),
});
