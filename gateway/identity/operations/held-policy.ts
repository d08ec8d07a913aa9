import type { Message } from "@bufbuild/protobuf";

import type { HeldPolicies } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { Context } from "../application.ts";
import type { AccountState, Change } from "../domain/account-state.ts";
import { charactersOf, identityDocument } from "../domain/documents.ts";
import type { Holder, HolderKind } from "../domain/entities.ts";
import {
  exceeded,
  findDeclaredRole,
  findDeclaredUser,
  getChangeable,
  getRecord,
  heldBy,
  noSuch,
  policyByArn,
} from "../domain/entities.ts";
import { findReferred, policyArnOf, referenceTo } from "../domain/managed-policies.ts";
import { limits } from "../limits.ts";
import { pageOf } from "./listing.ts";

/** Members of the requests about the policies of a user, group or role. */
interface HeldPolicyRequest extends Message {
  readonly policyName?: string;
  readonly policyDocument?: string;
  readonly policyArn?: string;
}

/** The managed policies that a holder has attached. */
export const attachedPolicies = (
  accountId: string,
  state: AccountState,
  { attached }: Pick<HeldPolicies, "attached">,
) =>
  attached.flatMap((reference) => {
    const policy = findReferred(state, reference);
    return policy ? [{ policyName: policy.name, policyArn: policyArnOf(accountId, policy) }] : [];
  });

/**
 * The seven operations on the inline and attached policies of one kind of holder. Those that change refuse, in this
 * order: MALFORMED_POLICY, DECLARED_ENTITY, NO_SUCH_ENTITY of the holder, NO_SUCH_ENTITY of the policy, LIMIT_EXCEEDED.
 * Those that read refuse NO_SUCH_ENTITY.
 */
export const heldPolicyOperations = <Request extends HeldPolicyRequest>(
  kind: HolderKind,
  nameOf: (request: Request) => string | undefined,
) => {
  const change = (
    { app, caller }: Context,
    request: Request,
    decide: (held: HeldPolicies, referenceOf: (arn: string) => string) => Pick<HeldPolicies, "inline" | "attached">,
  ) =>
    app.identities.change(caller.accountId, (state) => {
      const { accountId } = caller;
      const holder: Holder = getChangeable(app.accounts, accountId, state, kind, nameOf(request) ?? "");
      const held = heldBy(holder);
      const referenceOf = (arn: string): string => referenceTo(policyByArn(accountId, state, arn));
      const policies = { ...held, ...decide(held, referenceOf) };
      const record = { ...holder, policies };
      const changes = [{ kind, name: holder.name.toLowerCase(), record } as unknown as Change];
      return { changes, result: {} };
    });

  /** What a holder has; a declared one has its policies only in the configuration file. */
  const read = ({ app, caller }: Context, request: Request): Pick<HeldPolicies, "inline" | "attached"> => {
    const name = nameOf(request) ?? "";
    const { accountId } = caller;
    const isDeclared =
      (kind === "user" && findDeclaredUser(app.accounts, accountId, name) !== undefined) ||
      (kind === "role" && findDeclaredRole(app.accounts, accountId, name) !== undefined);
    if (isDeclared) return { inline: {}, attached: [] };
    const holder: Holder = getRecord(app.identities.state(accountId), kind, name);
    return heldBy(holder);
  };

  return {
    put: async (request: Request, context: Context) => {
      const document = identityDocument(request.policyDocument ?? "");
      return change(context, request, ({ inline, attached }) => {
        const all = { ...inline, [request.policyName ?? ""]: document };
        const max = limits.inlinePoliciesCharactersMax[kind];
        const characters = Object.values(all).reduce((sum, each) => sum + charactersOf(each), 0);
        if (characters > max) throw exceeded(`inline policy size per ${kind}`, max);
        return { inline: all, attached };
      });
    },
    get: async (request: Request, context: Context) => {
      const { policyName = "" } = request;
      const { inline } = read(context, request);
      if (!Object.hasOwn(inline, policyName)) throw noSuch("policy", policyName);
      return { name: nameOf(request) ?? "", policyName, policyDocument: inline[policyName] ?? "" };
    },
    list: async (request: Request, context: Context) => {
      const names = Object.keys(read(context, request).inline);
      const { items, ...page } = pageOf(context, request, names, (name) => name, [nameOf(request)]);
      return { policyNames: [...items], ...page };
    },
    delete: async (request: Request, context: Context) =>
      change(context, request, ({ inline, attached }) => {
        const { policyName = "" } = request;
        if (!Object.hasOwn(inline, policyName)) throw noSuch("policy", policyName);
        return { inline: Object.fromEntries(Object.entries(inline).filter(([name]) => name !== policyName)), attached };
      }),
    attach: async (request: Request, context: Context) =>
      change(context, request, ({ inline, attached }, referenceOf) => {
        const reference = referenceOf(request.policyArn ?? "");
        const all = [...attached.filter((each) => each !== reference), reference];
        const { attachedPoliciesMax } = limits;
        if (all.length > attachedPoliciesMax) throw exceeded("attached policies", attachedPoliciesMax);
        return { inline, attached: all };
      }),
    detach: async (request: Request, context: Context) =>
      change(context, request, ({ inline, attached }, referenceOf) => {
        const reference = referenceOf(request.policyArn ?? "");
        if (!attached.includes(reference)) throw noSuch("policy", request.policyArn ?? "");
        return { inline, attached: attached.filter((each) => each !== reference) };
      }),
    listAttached: async (request: Request, context: Context) => {
      const { accountId } = context.caller;
      const all = attachedPolicies(accountId, context.app.identities.state(accountId), read(context, request));
      const { items, ...page } = pageOf(
        context,
        request,
        all,
        ({ policyName, policyArn }) => `${policyName} ${policyArn}`,
        [nameOf(request)],
      );
      return { attachedPolicies: [...items], ...page };
    },
  };
};
