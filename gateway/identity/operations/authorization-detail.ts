import type { MessageInitShape } from "@bufbuild/protobuf";

import type { HeldPolicies, PolicyRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  GroupDetailSchema,
  ManagedPolicyDetailSchema,
  RoleDetailSchema,
  UserDetailSchema,
} from "../../../gen/quartet/identity/v1/authorization_detail_pb.ts";
import type { GetAccountAuthorizationDetailsRequest } from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import type { Context } from "../application.ts";
import { boundaryMember } from "../domain/boundaries.ts";
import { commonPolicies } from "../domain/common-policies.ts";
import { heldBy, profilesOfRole } from "../domain/entities.ts";
import { referenceTo } from "../domain/managed-policies.ts";
import { groupMessage } from "./group.ts";
import { attachedPolicies } from "./held-policy.ts";
import { profileMessage } from "./instance-profile.ts";
import { pageOf } from "./listing.ts";
import { allUses, policyMessage, unused } from "./policy.ts";
import { versionMessage } from "./policy-version.ts";
import { allRoles, storedRole } from "./role.ts";
import { allUsers, storedUser } from "./user.ts";

/** What one entity answers, by the list that it belongs to. */
type Detail =
  | { readonly list: "userDetailList"; readonly message: MessageInitShape<typeof UserDetailSchema> }
  | { readonly list: "groupDetailList"; readonly message: MessageInitShape<typeof GroupDetailSchema> }
  | { readonly list: "roleDetailList"; readonly message: MessageInitShape<typeof RoleDetailSchema> }
  | { readonly list: "policies"; readonly message: MessageInitShape<typeof ManagedPolicyDetailSchema> };

/** An entity before its page is known; only what stands on the page is made. */
interface Listed {
  readonly position: string;
  readonly bytes: number;
  make(): Detail;
}

/** What an entity adds to a page besides its documents. */
const entityBytes = 1_024;

/** Lists what there is in the account with everything that says what it may do. */
export const getAccountAuthorizationDetails = async (
  request: GetAccountAuthorizationDetailsRequest,
  context: Context,
) => {
  const { filter } = request;
  const lists = { User: users, Group: groups, Role: roles, LocalManagedPolicy: ownPolicies, AWSManagedPolicy: common };
  const kinds = Object.entries(lists).filter(([kind]) => filter.length === 0 || filter.includes(kind));
  const all = kinds.flatMap(([, list], index) =>
    list(context).map((listed) => ({ ...listed, position: `${index} ${listed.position}` })),
  );
  const filters = kinds.map(([kind]) => kind);
  const { items, ...page } = pageOf(
    context,
    request,
    all,
    ({ position }) => position,
    filters,
    ({ bytes }) => bytes,
  );
  const details = items.map((item) => item.make());
  const of = <L extends Detail["list"]>(list: L) =>
    details.flatMap((detail) => (detail.list === list ? [detail.message as (Detail & { list: L })["message"]] : []));
  return {
    userDetailList: of("userDetailList"),
    groupDetailList: of("groupDetailList"),
    roleDetailList: of("roleDetailList"),
    policies: of("policies"),
    ...page,
  };
};

const users = (context: Context): Listed[] => {
  const { accountId } = context.caller;
  const { declared, stored } = allUsers(context);
  return [
    ...declared.map((message) => listed(message.userName, 0, () => ({ list: "userDetailList", message }))),
    ...stored.map((record) =>
      listed(record.name, inlineLength(heldBy(record)), () => ({
        list: "userDetailList",
        message: {
          ...storedUser(accountId, record),
          ...boundaryMember(accountId, stateOf(context), record),
          userPolicyList: inlinePolicies(heldBy(record)),
          groupList: record.groups,
          attachedManagedPolicies: attached(context, heldBy(record)),
        },
      })),
    ),
  ];
};

const groups = (context: Context): Listed[] => {
  const { accountId } = context.caller;
  return [...stateOf(context).group.values()].map((record) =>
    listed(record.name, inlineLength(heldBy(record)), () => ({
      list: "groupDetailList",
      message: {
        ...groupMessage(accountId, record),
        groupPolicyList: inlinePolicies(heldBy(record)),
        attachedManagedPolicies: attached(context, heldBy(record)),
      },
    })),
  );
};

const roles = (context: Context): Listed[] => {
  const { accountId } = context.caller;
  const state = stateOf(context);
  const { declared, stored } = allRoles(context);
  const profilesOf = (name: string) => profilesOfRole(state, name).map((profile) => profileMessage(context, profile));
  return [
    ...declared.map(({ maxSessionDuration: _seconds, ...message }) =>
      listed(message.roleName, 0, () => ({
        list: "roleDetailList",
        message: { ...message, instanceProfileList: profilesOf(message.roleName) },
      })),
    ),
    ...stored.map((record) =>
      listed(record.name, record.trustPolicy.length + inlineLength(heldBy(record)), () => {
        const { maxSessionDuration: _seconds, description: _text, ...message } = storedRole(accountId, record);
        return {
          list: "roleDetailList",
          message: {
            ...message,
            ...boundaryMember(accountId, state, record),
            instanceProfileList: profilesOf(record.name),
            rolePolicyList: inlinePolicies(heldBy(record)),
            attachedManagedPolicies: attached(context, heldBy(record)),
          },
        };
      }),
    ),
  ];
};

const ownPolicies = (context: Context): Listed[] => managed(context, stateOf(context).policy.values(), false);

const common = (context: Context): Listed[] => managed(context, commonPolicies.values(), true);

const managed = (context: Context, records: Iterable<PolicyRecord>, onlyUsed: boolean): Listed[] => {
  const uses = allUses(stateOf(context));
  return [...records].flatMap((record) => {
    const used = uses.get(referenceTo(record));
    if (onlyUsed && used === undefined) return [];
    const { versions } = record;
    const bytes = versions.reduce((sum, { document }) => sum + document.length, 0);
    return [
      listed(record.name, bytes, () => ({
        list: "policies",
        message: {
          ...policyMessage(context.caller.accountId, record, used ?? unused),
          policyVersionList: versions
            .toReversed()
            .map((version) => ({ ...versionMessage(record, version), document: version.document })),
        },
      })),
    ];
  });
};

const listed = (name: string, bytes: number, make: () => Detail): Listed => ({
  position: name,
  bytes: entityBytes + bytes,
  make,
});

const inlineLength = ({ inline }: HeldPolicies): number =>
  Object.values(inline).reduce((sum, document) => sum + document.length, 0);

const inlinePolicies = ({ inline }: HeldPolicies) =>
  Object.keys(inline)
    .toSorted()
    .map((policyName) => ({ policyName, policyDocument: inline[policyName] ?? "" }));

const stateOf = ({ app, caller }: Context) => app.identities.state(caller.accountId);

const attached = (context: Context, held: HeldPolicies) =>
  attachedPolicies(context.caller.accountId, stateOf(context), held);
