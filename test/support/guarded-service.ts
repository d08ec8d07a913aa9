import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import { methodPermissions } from "../../services/kit/contract/permissions.ts";
import { ServiceError } from "../../services/kit/faults/service-error.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import { roleCaller, userCaller } from "../../services/kit/identity/caller.ts";
import type { Guard } from "../../services/kit/server/guard.ts";
import type { CallContext } from "../../services/kit/server/handlers.ts";
import { ownerAccount } from "./service-harness.ts";
import { silentLogger } from "./silent-logger.ts";

/** A guard with what it decides over, and members that make requests valid enough to be decided. */
export interface GuardedService<App> {
  readonly guard: Guard<App, unknown>;
  readonly app: App;
  readonly members: Readonly<Record<string, unknown>>;
}

/**
 * `+`: the guard lets the call through; `-`: access is denied; `e`: the call goes on and each element of its list is
 * refused; otherwise the reason of the refusal, such as that of a resource that looks as if it did not exist.
 */
export const decisionOf = async <App>(
  { guard, app, members }: GuardedService<App>,
  method: DescMethod,
  caller: Caller,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<string> => {
  const names = new Set(method.input.fields.map((field) => field.localName));
  const given = Object.entries({ ...members, ...changes }).filter(([name]) => names.has(name));
  const request = Object.assign(create(method.input), Object.fromEntries(given));
  const context = {
    app,
    method,
    caller,
    log: silentLogger,
    requestHeader: new Headers(),
    responseHeader: new Headers(),
  };
  try {
    const access = await guard(request, context as unknown as CallContext<App>);
    const refused = (access as { readonly refusedEntries?: ReadonlySet<number> } | undefined)?.refusedEntries;
    return refused === undefined || refused.size === 0 ? "+" : "e";
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.facts.reason === "ACCESS_DENIED" ? "-" : error.facts.reason;
  }
};

/** A user of the owner account with one policy of these statements; none: without any policy. */
export const userWith = (...statements: readonly object[]): Caller =>
  userCaller(ownerAccount, "alice", statements.length === 0 ? [] : [documentOf(statements)]);

/** A statement that allows actions on resources. */
export const allow = (actions: string | readonly string[], resources: string | readonly string[] = "*"): object => ({
  Effect: "Allow",
  Action: actions,
  Resource: resources,
});

/** A condition of a statement. */
export const when = (operator: string, key: string, value: string | readonly string[]): object => ({
  Condition: { [operator]: { [key]: value } },
});

/** A session of a role of the owner account with these policies, narrowed by session policies; none: not narrowed. */
export const sessionWith = (statements: readonly object[], session?: readonly object[]): Caller => ({
  ...roleCaller(ownerAccount, "reader", "nightly", [documentOf(statements)]),
  ...(session !== undefined && { sessionPolicies: session.length === 0 ? [] : [documentOf(session)] }),
});

const documentOf = (statements: readonly object[]): string =>
  JSON.stringify({ Version: "2012-10-17", Statement: statements });

/** Declarations in which the owner account is a member of an organization; no other account is. */
export const organized = {
  findOrganizationId: (accountId: string) => (accountId === ownerAccount ? "o-exampleorg00" : undefined),
};

/** A statement that denies actions on resources. */
export const deny = (actions: string, resources = "*"): object => ({ ...allow(actions, resources), Effect: "Deny" });

/** For each method: the decisions on a user with nothing, with all permissions that it declares, and all but one. */
export const decisionsByPermission = async <App>(
  service: DescService,
  prefix: string,
  guarded: GuardedService<App>,
): Promise<string[]> => {
  const lines: string[] = [];
  for (const method of service.methods) {
    const actions = methodPermissions(method).permissions.map(({ action }) =>
      action.includes(":") ? action : `${prefix}:${action}`,
    );
    const decisions = [
      await decisionOf(guarded, method, userWith()),
      await decisionOf(guarded, method, userWith(allow(actions))),
    ];
    for (const missing of actions) {
      const others = actions.filter((action) => action !== missing);
      decisions.push(await decisionOf(guarded, method, userWith(...(others.length === 0 ? [] : [allow(others)]))));
    }
    lines.push(`${method.name} ${decisions.join("")}`);
  }
  return lines;
};
