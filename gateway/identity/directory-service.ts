import type { MessageInitShape } from "@bufbuild/protobuf";

import type { RoleRecord } from "../../gen/quartet/identity/storage/v1/records_pb.ts";
import { ErrorReasonSchema } from "../../gen/quartet/identity/v1/error_reason_pb.ts";
import { DirectoryService } from "../../gen/quartet/kit/directory/v1/directory_service_pb.ts";
import type {
  DirectoryChangeSchema,
  GetPoliciesRequest,
  GetUserPoliciesRequest,
  WatchDirectoryRequest,
  WatchDirectoryResponseSchema,
} from "../../gen/quartet/kit/directory/v1/directory_service_pb.ts";
import { recordDecision } from "../../services/kit/access/decision-recorder.ts";
import { entityArn } from "../../services/kit/accounts/entity-arn.ts";
import { carriedPoliciesOf } from "../../services/kit/identity/identity-policies.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import type { CallContext } from "../../services/kit/server/handlers.ts";
import type { OfferedService } from "../../services/kit/server/route.ts";
import type { AccountState } from "./domain/account-state.ts";
import { principalsOf } from "./domain/principals.ts";
import { ErrorReason, fault } from "./faults.ts";
import type { Identities } from "./identities.ts";
import type { PolicyLists } from "./policy-lists.ts";
import { watchChanges } from "./watched-changes.ts";

/** What the service that other services follow works with. */
export interface DirectoryApplication {
  readonly identities: Identities;
  readonly policyLists: Pick<PolicyLists, "find">;
  readonly clock: Clock;
}

type Context = CallContext<DirectoryApplication>;
type Change = MessageInitShape<typeof DirectoryChangeSchema>;

/** Roles of a message; each has at most its policies and tags, of which messages have room for these many. */
const changesPerMessageMax = 20;

/**
 * Sends all accounts and roles and then each change. A change that is made while the beginning is sent may be in both;
 * made again it changes nothing. Refuses everybody but services, whose calls their own key has authorized:
 * ACCESS_DENIED.
 */
async function* watchDirectory(
  _request: WatchDirectoryRequest,
  context: Context,
): AsyncGenerator<MessageInitShape<typeof WatchDirectoryResponseSchema>> {
  const { identities, clock } = context.app;
  refuseOthers(context);
  const watched = watchChanges(identities, clock, context.signal);
  try {
    for (const accountId of identities.accountIds()) {
      const state = identities.state(accountId);
      const all = [
        ...accountChange(accountId, state),
        ...[...state.role.keys()].map((name) => roleChange(accountId, state, name)),
      ];
      for (const changes of inPieces(all)) yield { changes };
    }
    yield { isComplete: true };
    for await (const batch of watched.batches()) {
      const changes = batch.flatMap(({ accountId, changes: made }) => {
        const state = identities.state(accountId);
        return made.flatMap(({ kind, name }) => {
          if (kind === "account") return accountChange(accountId, state);
          if (kind === "policy") return rolesWith(name, state).map((role) => roleChange(accountId, state, role));
          return kind === "role" ? [roleChange(accountId, state, name)] : [];
        });
      });
      const pieces = inPieces(changes);
      for (const piece of pieces.slice(0, -1)) yield { changes: piece };
      yield { changes: pieces.at(-1) ?? [], isComplete: true };
    }
  } finally {
    watched.stop();
  }
}

/** Returns the identity policies with a digest. Refuses everybody but services: ACCESS_DENIED. */
const getPolicies = async ({ digest, principalArn }: GetPoliciesRequest, context: Context) => {
  refuseOthers(context);
  const documents = context.app.policyLists.find(digest, principalArn);
  return { documents: [...(documents ?? [])], isKnown: documents !== undefined };
};

/** Returns the policies of a user. Refuses everybody but operators, who hold the gateway's key: ACCESS_DENIED. */
const getUserPolicies = async ({ accountId, userName }: GetUserPoliciesRequest, context: Context) => {
  refuseOthers(context);
  const principals = principalsOf(accountId, context.app.identities.state(accountId));
  const user = principals.findUser(userName.slice(userName.lastIndexOf("/") + 1));
  if (user?.name !== userName) return { documents: [], isKnown: false };
  const { policies, permissionsBoundary } = user;
  return {
    documents: [...policies],
    isKnown: true,
    ...(permissionsBoundary === undefined ? {} : { permissionsBoundary }),
  };
};

const refuseOthers = (context: Context): void => {
  const { caller, method } = context;
  if (caller.isPreauthorized === true) return;
  const refused = { action: `iam:${method.name}`, resource: "*", isAllowed: false, reason: "not-a-service" };
  recordDecision(context, refused);
  throw fault(ErrorReason.ACCESS_DENIED, { action: method.name, resource: "*" });
};

/** The account as it is now, or that it was deleted. Nothing for one in which something was merely created. */
const accountChange = (accountId: string, state: AccountState): Change[] => {
  const record = state.account.get(accountId);
  if (record === undefined) return [{ change: { case: "deletedAccountId", value: accountId } }];
  const { name, email } = record;
  return [{ change: { case: "account", value: { id: accountId, name, ...(email === undefined ? {} : { email }) } } }];
};

/** The role as it is now, or that it was deleted. */
const roleChange = (accountId: string, state: AccountState, name: string): Change => {
  const role = principalsOf(accountId, state).findRole(name);
  const record = state.role.get(name);
  if (role === undefined || record === undefined)
    return { change: { case: "deletedRoleArn", value: entityArn(accountId, "role", { name }) } };
  const { id, trustPolicy, path } = record;
  const { tags = {} } = role;
  const carried = [...carriedPoliciesOf(role)];
  const own = role.permissionsBoundary === undefined ? { policies: carried } : { boundedPolicies: carried };
  return {
    change: { case: "role", value: { accountId, name: role.name, path, id, trustPolicy, ...own, tags: { ...tags } } },
  };
};

/** The roles that a managed policy of the account speaks about, attached or as their boundary. */
const rolesWith = (policyName: string, { policy, role }: AccountState): string[] => {
  const reference = policy.get(policyName)?.name;
  if (reference === undefined) return [];
  const hasIt = ({ policies, permissionsBoundary }: RoleRecord): boolean =>
    policies?.attached.includes(reference) === true || permissionsBoundary === reference;
  return [...role].filter(([, record]) => hasIt(record)).map(([name]) => name);
};

const inPieces = (changes: readonly Change[]): Change[][] =>
  Array.from({ length: Math.ceil(changes.length / changesPerMessageMax) }, (_, at) =>
    changes.slice(at * changesPerMessageMax, (at + 1) * changesPerMessageMax),
  );

/** What a gateway offers to the services that follow it. */
export const directoryService = (app: DirectoryApplication): OfferedService => ({
  service: DirectoryService,
  handlers: { watchDirectory, getPolicies, getUserPolicies },
  errors: ErrorReasonSchema,
  app,
  endless: [DirectoryService.method.watchDirectory.name],
});
