import type { Message } from "@bufbuild/protobuf";

import type { RoleRecord, UserRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { Context } from "../application.ts";
import type { AccountState, Change } from "../domain/account-state.ts";
import { withBoundary } from "../domain/boundaries.ts";
import { boundaryReference, getChangeable } from "../domain/entities.ts";

interface BoundaryRequest extends Message {
  readonly permissionsBoundary?: string;
}

/**
 * The two operations on the permissions boundary of one kind of principal. They refuse, in this order: DECLARED_ENTITY,
 * NO_SUCH_ENTITY of the principal, NO_SUCH_ENTITY of the policy. Repeating them is safe, and so is removing a boundary
 * that there is not.
 */
export const boundaryOperations = <Request extends BoundaryRequest>(
  kind: "user" | "role",
  nameOf: (request: Request) => string | undefined,
) => {
  const change = (
    { app, caller }: Context,
    request: Request,
    referenceIn: (state: AccountState) => string | undefined,
  ) =>
    app.identities.change(caller.accountId, (state) => {
      const holder: UserRecord | RoleRecord = getChangeable(
        app.accounts,
        caller.accountId,
        state,
        kind,
        nameOf(request) ?? "",
      );
      const record = withBoundary(holder, referenceIn(state));
      return { changes: [{ kind, name: holder.name.toLowerCase(), record } as unknown as Change], result: {} };
    });
  return {
    put: async (request: Request, context: Context) =>
      change(context, request, (state) => boundaryReference(context.caller.accountId, state, request)),
    delete: async (request: Request, context: Context) => change(context, request, () => undefined),
  };
};
