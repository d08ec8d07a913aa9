import type { RoleRecord, UserRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { AccountState } from "./account-state.ts";
import { findReferred, policyArnOf } from "./managed-policies.ts";

/** What can have a permissions boundary. */
type Bounded = Pick<UserRecord | RoleRecord, "permissionsBoundary">;

/** The boundary of a user or role as a member of what is answered; no member: it has none. */
export const boundaryMember = (accountId: string, state: AccountState, { permissionsBoundary }: Bounded) => {
  const policy = permissionsBoundary === undefined ? undefined : findReferred(state, permissionsBoundary);
  if (policy === undefined) return {};
  return {
    permissionsBoundary: {
      permissionsBoundaryType: "Policy",
      permissionsBoundaryArn: policyArnOf(accountId, policy),
    },
  };
};

/** The record with a boundary, by the reference to its policy, or without one. */
export const withBoundary = <R extends UserRecord | RoleRecord>(record: R, reference: string | undefined): R => {
  const { permissionsBoundary: _former, ...others } = record;
  const unbounded = others as R;
  return reference === undefined ? unbounded : { ...unbounded, permissionsBoundary: reference };
};
