/**
 * API destinations. Their state follows from the state of their connection whenever it is read.
 *
 * CreateApiDestination checks, in order:
 * 1. the endpoint is an HTTP URL;
 * 2. the connection exists;
 * 3. the name is not in use;
 * 4. the account has fewer API destinations than the limit.
 *
 * UpdateApiDestination checks, in order:
 * 1. the endpoint is an HTTP URL;
 * 2. the API destination exists;
 * 3. the connection exists.
 *
 * The other operations fail if the API destination does not exist.
 */
import type { ApiDestinationRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ApiDestinationHttpMethod, ApiDestinationState } from "../../../gen/quartet/eventbus/v1/api_destination_pb.ts";
import { ConnectionState } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Reader } from "../../kit/store/store.ts";
import type { Application, Operation } from "../application.ts";
import { apiDestinationArn, connectionArn, parseIdentifiedArn } from "../domain/arns.ts";
import { isHttpUrl } from "../domain/connection.ts";
import { instant } from "../domain/instant.ts";
import { ErrorReason, fault } from "../faults.ts";
import * as stored from "../store/api-destination.ts";
import { findConnectionByArn } from "../store/connection.ts";

/** Creates an API destination. A second call with the same name is refused and changes nothing. */
export const createApiDestination: Operation<"createApiDestination"> = async (request, { app, caller }) => {
  const { name, description, invocationEndpoint, httpMethod } = request;
  const { accountId } = caller;
  refuseEndpoint(invocationEndpoint);
  const nowMs = BigInt(app.clock.now());
  const destination = {
    name,
    id: app.ids.uuid(),
    description,
    invocationEndpoint,
    httpMethod,
    rateLimit: request.invocationRateLimitPerSecond ?? app.limits.rateLimitDefault,
    createdMs: nowMs,
    modifiedMs: nowMs,
  };

  const state = await app.store.transact(async (transaction) => {
    const arn = await ownConnectionArn(app, transaction, accountId, request.connectionArn);
    if ((await stored.findApiDestination(transaction, accountId, name)) !== undefined)
      throw fault(ErrorReason.API_DESTINATION_ALREADY_EXISTS, { name });
    const limit = app.limits.apiDestinationsMax;
    if ((await stored.countApiDestinations(transaction, accountId)) >= limit) throw fault(ErrorReason.LIMIT_EXCEEDED);
    await stored.putApiDestination(transaction, accountId, { ...destination, connectionArn: arn });
    return stateOf(transaction, accountId, arn);
  });

  return {
    apiDestinationArn: apiDestinationArn(app.arnScope, accountId, name, destination.id),
    apiDestinationState: state,
    creationTime: instant(nowMs),
    lastModifiedTime: instant(nowMs),
  };
};

/** Changes the given settings; the others stay. */
export const updateApiDestination: Operation<"updateApiDestination"> = async (request, { app, caller }) => {
  const { accountId } = caller;
  if (request.invocationEndpoint !== undefined) refuseEndpoint(request.invocationEndpoint);
  return app.store.transact(async (transaction) => {
    const present = await stored.getApiDestination(transaction, accountId, request.name);
    const arn =
      request.connectionArn === undefined
        ? present.connectionArn
        : await ownConnectionArn(app, transaction, accountId, request.connectionArn);
    const changed = {
      ...present,
      description: request.description ?? present.description,
      connectionArn: arn,
      invocationEndpoint: request.invocationEndpoint ?? present.invocationEndpoint,
      httpMethod: request.httpMethod === ApiDestinationHttpMethod.UNSPECIFIED ? present.httpMethod : request.httpMethod,
      rateLimit: request.invocationRateLimitPerSecond ?? present.rateLimit,
      modifiedMs: BigInt(app.clock.now()),
    };
    await stored.putApiDestination(transaction, accountId, changed);
    return {
      apiDestinationArn: apiDestinationArn(app.arnScope, accountId, present.name, present.id),
      apiDestinationState: await stateOf(transaction, accountId, arn),
      creationTime: instant(changed.createdMs),
      lastModifiedTime: instant(changed.modifiedMs),
    };
  });
};

/** Returns the settings of an API destination. */
export const describeApiDestination: Operation<"describeApiDestination"> = (request, { app, caller }) =>
  app.store.read(async (reader) => {
    const failure = "Failed to describe the api-destination(s). ";
    const destination = await stored.getApiDestination(reader, caller.accountId, request.name, failure);
    return {
      ...(await toApiDestination(app, reader, caller.accountId, destination)),
      description: destination.description,
    };
  });

/** Lists the account's API destinations by name. */
export const listApiDestinations: Operation<"listApiDestinations"> = async (request, context) => {
  const { app, caller } = context;
  const { namePrefix = "", connectionArn: arn } = request;
  const page = app.pages.open(context, request, [namePrefix, arn]);
  return app.store.read(async (reader) => {
    const names = { namePrefix, after: page.after, limit: page.lookFor };
    const found = await stored.listApiDestinations(reader, caller.accountId, names, arn);
    const { items, nextToken } = page.cut(found, (destination) => destination.name);
    const apiDestinations = await Promise.all(
      items.map((destination) => toApiDestination(app, reader, caller.accountId, destination)),
    );
    return { apiDestinations, nextToken };
  });
};

/** Deletes an API destination. */
export const deleteApiDestination: Operation<"deleteApiDestination"> = async (request, { app, caller }) => {
  await app.store.transact(async (transaction) => {
    await findOrDamaged(stored.getApiDestination(transaction, caller.accountId, request.name));
    await stored.deleteApiDestination(transaction, caller.accountId, request.name);
  });
  return {};
};

const refuseEndpoint = (endpoint: string): void => {
  if (!isHttpUrl(endpoint))
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "InvocationEndpoint",
      reason: "InvocationEndpoint is not an HTTP URL.",
    });
};

/**
 * The ARN of a connection in the dialect of this installation, from an ARN of either dialect. Throws
 * CONNECTION_NOT_FOUND.
 */
const ownConnectionArn = async (app: Application, reader: Reader, account: string, arn: string): Promise<string> => {
  const connection = await findConnectionByArn(reader, account, arn);
  if (connection === undefined)
    throw fault(ErrorReason.CONNECTION_NOT_FOUND, {
      failure: "",
      name: parseIdentifiedArn(arn, "connection")?.name ?? arn,
    });
  return connectionArn(app.arnScope, account, connection.name, connection.id);
};

const stateOf = async (reader: Reader, account: string, arn: string): Promise<ApiDestinationState> =>
  (await findConnectionByArn(reader, account, arn))?.state === ConnectionState.AUTHORIZED
    ? ApiDestinationState.ACTIVE
    : ApiDestinationState.INACTIVE;

const toApiDestination = async (
  app: Application,
  reader: Reader,
  account: string,
  destination: ApiDestinationRecord,
) => ({
  apiDestinationArn: apiDestinationArn(app.arnScope, account, destination.name, destination.id),
  name: destination.name,
  apiDestinationState: await stateOf(reader, account, destination.connectionArn),
  connectionArn: destination.connectionArn,
  invocationEndpoint: destination.invocationEndpoint,
  httpMethod: destination.httpMethod,
  invocationRateLimitPerSecond: destination.rateLimit,
  creationTime: instant(destination.createdMs),
  lastModifiedTime: instant(destination.modifiedMs),
});
