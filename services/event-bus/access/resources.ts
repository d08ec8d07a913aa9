import type { EventBusRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Tag } from "../../../gen/quartet/eventbus/v1/tag_pb.ts";
import { resourceTagConditions } from "../../kit/access/call-conditions.ts";
import type { Resource } from "../../kit/access/decide.ts";
import { asksFor } from "../../kit/access/identity.ts";
import type { AskedResource, KnownResource } from "../../kit/access/policy-service.ts";
import type { Question } from "../../kit/access/questions.ts";
import { textOf } from "../../kit/access/questions.ts";
import { arn } from "../../kit/arn/arn.ts";
import { undefinedIfDamaged } from "../../kit/store/damage.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import type { BusReference } from "../domain/arns.ts";
import {
  apiDestinationArn,
  busArn,
  connectionArn,
  parseBusReference,
  parseTaggedArn,
  ruleArn,
} from "../domain/arns.ts";
import { taggedNotFound } from "../domain/tags.ts";
import { findApiDestination } from "../store/api-destination.ts";
import { findBus } from "../store/bus.ts";
import { findConnection } from "../store/connection.ts";
import { findRule } from "../store/rule.ts";
import { policiesOf } from "./bus-policy.ts";
import { patternConditions } from "./pattern-conditions.ts";

/** Finds the resources of one call's questions; a bus is read once for the call. */
export class ResourceFinder {
  readonly #context: CallContext<Application>;
  readonly #buses = new Map<string, Promise<EventBusRecord | undefined>>();

  constructor(context: CallContext<Application>) {
    this.#context = context;
  }

  /** The resource of a question: as an ARN names it, of the bus that is named, or of the caller's account. */
  find(question: Question): Promise<Resource> {
    const { template } = question.permission;
    const { accountId } = this.#context.caller;
    const busMember = /\{((?:entries\.)?event_bus_name)\}/.exec(template)?.[1];
    if (template === "{resource_arn}") return this.#tagged(question.resource);
    if (busMember !== undefined) return this.#ofBus(question, this.#busOf(question, busMember));
    if (template !== "event-bus/{name}") return this.#ofAccount(question);
    // The bus that is to be created has a name only.
    if (this.#context.method.name === "CreateEventBus")
      return this.#ofBus(question, { account: accountId, name: textOf(question, "name") });
    return this.#ofBus(question, this.#busOf(question, "name"));
  }

  #busOf(question: Question, member: string): BusReference {
    const { app, caller } = this.#context;
    return parseBusReference(textOf(question, member), caller.accountId, app.arnScope);
  }

  #findBus(bus: BusReference): Promise<EventBusRecord | undefined> {
    const name = `${bus.account}/${bus.name}`;
    const { app, caller, method } = this.#context;
    const mayBeDamaged = mendingActions.has(method.name) && caller.isRoot && caller.accountId === bus.account;
    const read = () => app.store.read((reader) => findBus(reader, bus));
    const found = this.#buses.get(name) ?? (mayBeDamaged ? read().catch(undefinedIfDamaged) : read());
    this.#buses.set(name, found);
    return found;
  }

  /** A bus, or a rule of a bus. The policy of the bus decides on both, but nobody can lock its owner's root out. */
  async #ofBus(question: Question, bus: BusReference): Promise<Resource> {
    const { app, caller, method } = this.#context;
    const record = await this.#findBus(bus);
    const rule = /^rule\/.*\{(name|rule)\}$/.exec(question.permission.template)?.[1];
    const ruleName = rule === undefined ? undefined : textOf(question, rule);
    return {
      arn: ruleName === undefined ? busArn(app.arnScope, bus) : ruleArn(app.arnScope, bus, ruleName),
      ownerAccountId: bus.account,
      policies: policyActions.has(method.name) && caller.isRoot ? [] : policiesOf(record),
      conditions: await this.#conditions(question, bus, record, ruleName),
      ...(bus.account !== caller.accountId && { shownAs: busArn(app.arnScope, bus) }),
    };
  }

  async #conditions(
    question: Question,
    bus: BusReference,
    record: EventBusRecord | undefined,
    ruleName: string | undefined,
  ): Promise<Map<string, readonly string[]>> {
    const { app, caller, method } = this.#context;
    const wantsTags = asksFor("resourcetag", caller, record?.policy);
    const wantsCreator = asksFor("creatoraccount", caller, record?.policy);
    const rule =
      ruleName !== undefined && (wantsTags || wantsCreator)
        ? await app.store.read((reader) => findRule(reader, bus, ruleName))
        : undefined;
    const tags = ruleName === undefined ? record?.tags : rule?.tags;
    return new Map([
      ...(wantsTags ? tagConditions(tags) : []),
      ...(ruleName === undefined ? [] : ([["events:creatoraccount", [rule?.createdBy ?? caller.accountId]]] as const)),
      ...(method.name === "PutRule" ? patternConditions(textOf(question, "event_pattern")) : []),
      ...(method.name === "PutEvents" ? ([["events:eventbusinvocation", ["false"]]] as const) : []),
    ]);
  }

  /**
   * A bus or a rule by its ARN. Another account's looks as if it did not exist; a text of another form is left to the
   * handler.
   */
  async #tagged(text: string): Promise<Resource> {
    const { app, caller } = this.#context;
    const named = parseTaggedArn(text);
    if (named === undefined) return { arn: text, ownerAccountId: caller.accountId };
    const { bus, rule } = named;
    if (bus.account !== caller.accountId) {
      return { arn: text, ownerAccountId: bus.account, refusal: () => taggedNotFound(named) };
    }
    if (!asksFor("resourcetag", caller)) return { arn: text, ownerAccountId: bus.account };
    const tagged =
      rule === undefined ? await this.#findBus(bus) : await app.store.read((reader) => findRule(reader, bus, rule));
    return { arn: text, ownerAccountId: bus.account, conditions: tagConditions(tagged?.tags) };
  }

  /** What belongs to the caller's account and to no bus. The ids of connections and API destinations are looked up. */
  async #ofAccount(question: Question): Promise<Resource> {
    const { app, caller, method } = this.#context;
    const { accountId } = caller;
    const { template } = question.permission;
    const unlessMended = (error: unknown): undefined => {
      if (!mendingActions.has(method.name) || !caller.isRoot) throw error;
      return undefinedIfDamaged(error);
    };
    const name = template.endsWith("{name}/*") ? textOf(question, "name") : "";
    if (template === "connection/{name}/*") {
      const found = await app.store.read((reader) => findConnection(reader, accountId, name)).catch(unlessMended);
      return { arn: connectionArn(app.arnScope, accountId, name, found?.id ?? "*"), ownerAccountId: accountId };
    }
    if (template === "api-destination/{name}/*") {
      const found = await app.store.read((reader) => findApiDestination(reader, accountId, name)).catch(unlessMended);
      return { arn: apiDestinationArn(app.arnScope, accountId, name, found?.id ?? "*"), ownerAccountId: accountId };
    }
    const text = arn({ ...app.arnScope, account: accountId, resource: question.resource });
    return { arn: text, ownerAccountId: accountId };
  }
}

/**
 * A bus or a rule by its ARN, with the policy of the bus; of other resources nothing is known but their account. No
 * policy keeps a root from managing the policy of its bus.
 */
export const findByArn = async (
  app: Application,
  { arn: text, action, principal }: AskedResource,
): Promise<KnownResource | undefined> => {
  const named = parseTaggedArn(text);
  if (named === undefined) return undefined;
  const { bus, rule: ruleName } = named;
  const [record, rule] = await app.store.read(async (reader) => [
    await findBus(reader, bus),
    ruleName === undefined ? undefined : await findRule(reader, bus, ruleName),
  ]);
  if (record === undefined) return undefined;
  const creator = rule?.createdBy ?? principal.accountId;
  return {
    ownerAccountId: bus.account,
    policies: policyActions.has(action) && principal.isRoot ? [] : policiesOf(record),
    conditions: new Map([
      ...tagConditions(ruleName === undefined ? record.tags : rule?.tags),
      ...(ruleName === undefined ? [] : ([["events:creatoraccount", [creator]]] as const)),
    ]),
  };
};

/** The operations that manage the policy of a bus. */
const policyActions: ReadonlySet<string> = new Set(["PutPermission", "RemovePermission"]);

/** The operations with which the root of its account replaces or deletes something whose record is damaged. */
const mendingActions: ReadonlySet<string> = new Set([
  "DeleteApiDestination",
  "DeleteConnection",
  "DeleteEventBus",
  "UpdateEventBus",
]);

const tagConditions = (tags: readonly Tag[] = []) =>
  resourceTagConditions(Object.fromEntries(tags.map(({ key, value }) => [key, value])));
