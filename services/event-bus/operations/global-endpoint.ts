/**
 * Global endpoints: two regions, each a deployment, of which the second one receives events while the first one is not
 * healthy. An account creates the same endpoint in both; its id is then the same.
 *
 * CreateEndpoint checks, in order:
 * 1. `refuseEndpoint` has no refusal;
 * 2. the name is not in use;
 * 3. the account has fewer endpoints than the limit.
 *
 * UpdateEndpoint checks that the endpoint exists, then `refuseEndpoint` with what is changed. DescribeEndpoint and
 * DeleteEndpoint fail if the endpoint does not exist; no endpoint is known here of another home region.
 */
import type { GlobalEndpointRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { UpdateEndpointRequest } from "../../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { EndpointState, ReplicationState } from "../../../gen/quartet/eventbus/v1/global_endpoint_pb.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Application, Operation } from "../application.ts";
import { endpointArn } from "../domain/arns.ts";
import { endpointId, refuseEndpoint } from "../domain/global-endpoint.ts";
import { instant } from "../domain/instant.ts";
import { ErrorReason, fault } from "../faults.ts";
import * as stored from "../store/global-endpoint.ts";
import { firstNames } from "../store/named-records.ts";

/** Creates an endpoint; it is used at once. A second call with the same name is refused and changes nothing. */
export const createEndpoint: Operation<"createEndpoint"> = async (request, { app, caller }) => {
  const account = caller.accountId;
  const { name, description } = request;
  const parts = partsOf(request, undefined);
  refuse(app, account, parts);
  const nowMs = BigInt(app.clock.now());
  const id = endpointId(account, name, parts.busArns);
  await app.store.transact(async (transaction) => {
    if ((await stored.findEndpoint(transaction, account, name)) !== undefined)
      throw fault(ErrorReason.ENDPOINT_ALREADY_EXISTS, { name });
    const limit = app.limits.endpointsMax;
    if ((await stored.listEndpoints(transaction, account, firstNames(limit))).length >= limit)
      throw fault(ErrorReason.LIMIT_EXCEEDED);
    stored.putEndpoint(transaction, account, { name, id, description, ...parts, createdMs: nowMs, modifiedMs: nowMs });
  });
  const { endpointId: _id, endpointUrl: _url, ...answer } = settingsOf(app, account, { name, id, ...parts });
  return answer;
};

/** Returns the settings of an endpoint. */
export const describeEndpoint: Operation<"describeEndpoint"> = async ({ name, homeRegion }, { app, caller }) => {
  if (homeRegion !== undefined && homeRegion !== app.arnScope.region)
    throw fault(ErrorReason.ENDPOINT_NOT_FOUND, { name });
  const endpoint = await app.store.read((reader) => stored.getEndpoint(reader, caller.accountId, name));
  return toEndpoint(app, caller.accountId, endpoint);
};

/** Lists the account's endpoints by name. */
export const listEndpoints: Operation<"listEndpoints"> = async (request, context) => {
  const { app, caller } = context;
  const { namePrefix = "", homeRegion = app.arnScope.region } = request;
  const page = app.pages.open(context, request, [namePrefix, homeRegion]);
  if (homeRegion !== app.arnScope.region) return { endpoints: [] };
  const names = { namePrefix, after: page.after, limit: page.lookFor };
  const found = await app.store.read((reader) => stored.listEndpoints(reader, caller.accountId, names));
  const { items, nextToken } = page.cut(found, (endpoint) => endpoint.name);
  return { endpoints: items.map((endpoint) => toEndpoint(app, caller.accountId, endpoint)), nextToken };
};

/** Changes the given settings; the others stay. Its id changes with its buses. */
export const updateEndpoint: Operation<"updateEndpoint"> = async (request, { app, caller }) => {
  const account = caller.accountId;
  const { name } = request;
  const changed = await app.store.transact(async (transaction) => {
    const present = await stored.getEndpoint(transaction, account, name);
    const parts = partsOf(request, present);
    refuse(app, account, parts);
    const next = {
      ...present,
      ...parts,
      id: endpointId(account, name, parts.busArns),
      description: request.description ?? present.description,
      modifiedMs: BigInt(app.clock.now()),
    };
    stored.putEndpoint(transaction, account, next);
    return next;
  });
  return settingsOf(app, account, changed);
};

/** Deletes an endpoint; events are then put on its buses by their names only. */
export const deleteEndpoint: Operation<"deleteEndpoint"> = async ({ name }, { app, caller }) => {
  await app.store.transact(async (transaction) => {
    await findOrDamaged(stored.getEndpoint(transaction, caller.accountId, name));
    stored.deleteEndpoint(transaction, caller.accountId, name);
  });
  return {};
};

type Parts = Parameters<typeof refuseEndpoint>[0];

/** The parts of a request; those that it leaves out are the present ones. */
const partsOf = (
  request: Pick<UpdateEndpointRequest, "eventBuses" | "routingConfig" | "replicationConfig" | "roleArn">,
  present: GlobalEndpointRecord | undefined,
): Parts => {
  const { primary, secondary } = request.routingConfig?.failoverConfig ?? {};
  const replication = request.replicationConfig?.state ?? present?.replication;
  const buses = request.eventBuses.map(({ eventBusArn }) => eventBusArn);
  return {
    busArns: buses.length === 0 ? (present?.busArns ?? []) : buses,
    route: secondary?.route ?? present?.route ?? "",
    healthCheck: primary?.healthCheck ?? present?.healthCheck ?? "",
    replication: replication === ReplicationState.DISABLED ? replication : ReplicationState.ENABLED,
    roleArn: request.roleArn ?? present?.roleArn,
  };
};

/** Throws PARAMETER_REFUSED. */
const refuse = ({ arnScope, regions, health }: Application, account: string, parts: Parts): void => {
  const refusal = refuseEndpoint(parts, {
    account,
    region: arnScope.region,
    hasRegion: (region) => regions.has(region),
    hasHealthCheck: (check) => health.has(check),
  });
  if (refusal !== undefined) throw fault(ErrorReason.PARAMETER_REFUSED, { ...refusal });
};

const settingsOf = (
  { arnScope }: Pick<Application, "arnScope">,
  account: string,
  {
    name,
    id,
    busArns,
    route,
    healthCheck,
    replication,
    roleArn,
  }: Parts & { readonly name: string; readonly id: string },
) => ({
  name,
  arn: endpointArn(arnScope, account, name),
  routingConfig: { failoverConfig: { primary: { healthCheck }, secondary: { route } } },
  replicationConfig: { state: replication },
  eventBuses: busArns.map((eventBusArn) => ({ eventBusArn })),
  roleArn,
  endpointId: id,
  endpointUrl: `https://${id}.endpoint.events.amazonaws.com`,
  state: EndpointState.ACTIVE,
});

const toEndpoint = (app: Pick<Application, "arnScope">, account: string, endpoint: GlobalEndpointRecord) => ({
  ...settingsOf(app, account, { ...endpoint, roleArn: endpoint.roleArn }),
  description: endpoint.description,
  creationTime: instant(endpoint.createdMs),
  lastModifiedTime: instant(endpoint.modifiedMs),
});
