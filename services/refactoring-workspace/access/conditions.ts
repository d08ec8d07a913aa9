import type { Conditions } from "../../kit/access/call-conditions.ts";
import { resourceTagConditions } from "../../kit/access/call-conditions.ts";
import { asksFor } from "../../kit/access/identity.ts";
import type { Question } from "../../kit/access/questions.ts";
import { textOf } from "../../kit/access/questions.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import type { NamedResource } from "../domain/resource-name.ts";
import { parseResourceName } from "../domain/resource-name.ts";
import { findApplication } from "../store/application.ts";
import { findRoute } from "../store/route.ts";
import { findService } from "../store/service.ts";
import { findTagged } from "../store/tag.ts";

/** The condition keys that only this service has. */
const key = {
  application: "refactor-spaces:applicationcreatedbyaccount",
  service: "refactor-spaces:servicecreatedbyaccount",
  route: "refactor-spaces:routecreatedbyaccount",
  all: "refactor-spaces:createdbyaccountids",
  sourcePath: "refactor-spaces:sourcepath",
} as const;

/**
 * The condition keys of a resource: its tags, the accounts that created it and what it belongs to, and the path of a
 * route. What is to be created has the caller's account as its creator. Records are read only where a policy asks.
 */
export const resourceConditions = async (
  named: NamedResource | undefined,
  question: Question,
  { app, caller, method }: CallContext<Application>,
  policy: string | undefined,
): Promise<Conditions> => {
  const conditions = new Map<string, readonly string[]>();
  const resource = named ?? parseResourceName(question.resource);
  const wantsTags = asksFor("resourcetag", caller, policy);
  const wantsCreators = asksFor("createdbyaccount", caller, policy);
  const wantsPath = asksFor("sourcepath", caller, policy);
  if (!wantsTags && !wantsCreators && !wantsPath) return conditions;
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined && value !== "") conditions.set(name, [value]);
  };
  const { environmentId, applicationId, serviceId, routeId, created } = identifiersOf(question, method.name);
  const creatorOf = (kind: string, record: { readonly createdByAccountId: string } | undefined): string | undefined =>
    created === kind ? caller.accountId : record?.createdByAccountId;
  await app.store.read(async (reader) => {
    if (wantsTags && resource !== undefined)
      for (const [name, values] of resourceTagConditions((await findTagged(reader, resource))?.tags))
        conditions.set(name, values);
    const route = routeId === undefined ? undefined : await findRoute(reader, environmentId, applicationId, routeId);
    set(key.sourcePath, created === "route" ? newPath(question) : route?.match?.sourcePath);
    if (!wantsCreators) return;
    const application = await findApplication(reader, environmentId, applicationId);
    const service =
      serviceId === undefined ? undefined : await findService(reader, environmentId, applicationId, serviceId);
    set(key.application, creatorOf("application", application));
    set(key.service, creatorOf("service", service));
    set(key.route, creatorOf("route", route));
  });
  const creators = [key.application, key.service, key.route].flatMap((name) => conditions.get(name) ?? []);
  if (creators.length > 0) conditions.set(key.all, [...new Set(creators)]);
  return conditions;
};

interface Identifiers {
  readonly environmentId: string;
  /** Empty: the environment itself is meant, or an application that is to be created. */
  readonly applicationId: string;
  readonly serviceId: string | undefined;
  readonly routeId: string | undefined;
  /** The kind of resource that the operation creates. */
  readonly created: string | undefined;
}

/** Reads `environment/<id>/application/<id>/service/<id>`, which may end early, or with `*` for what is created. */
const identifiersOf = (question: Question, operation: string): Identifiers => {
  const { resource } = question;
  const [, environmentId = "", applicationId = "", kind, id] =
    /environment\/([^/]*)(?:\/application\/([^/]*))?(?:\/(service|route)\/([^/]*))?$/.exec(resource) ?? [];
  const created = resource.endsWith("/*") ? (kind ?? "application") : undefined;
  // A route leads to a service that its request names next to the resource.
  const namedService = operation === "CreateRoute" ? textOf(question, "service_identifier") : undefined;
  return {
    environmentId,
    applicationId: applicationId === "*" ? "" : applicationId,
    serviceId: kind === "service" && created === undefined ? id : namedService,
    routeId: kind === "route" && created === undefined ? id : undefined,
    created,
  };
};

/** The path of a route that is to be created; undefined for the default route. */
const newPath = (question: Question): string | undefined => textOf(question, "uri_path_route.source_path") || undefined;
