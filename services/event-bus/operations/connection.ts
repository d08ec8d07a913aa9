/**
 * Connections. Creating refuses parameters that do not fit the type of authorization, a private network, a name that is
 * taken, then one connection too many. The others refuse a connection that is not there. Secrets are stored encrypted
 * and never answered.
 */
import type { ConnectionRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ConnectionAuthorizationType, ConnectionState } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import type { Application, Operation } from "../application.ts";
import { openSecret, sealSecret } from "../connection-secret.ts";
import { enqueueAuthorization } from "../delivery/authorization-job.ts";
import { connectionArn, secretArn } from "../domain/arns.ts";
import { describeAuth, refuseAuthParameters } from "../domain/connection.ts";
import { instant } from "../domain/instant.ts";
import { ErrorReason, fault } from "../faults.ts";
import * as stored from "../store/connection.ts";
import { cutPage, pageOf } from "./page.ts";

/** Makes a connection. A second call with the same name is refused and changes nothing. */
export const createConnection: Operation<"createConnection"> = async (request, { app, caller }) => {
  const { name, authorizationType, authParameters, description, kmsKeyIdentifier } = request;
  if (request.invocationConnectivityParameters !== undefined)
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "InvocationConnectivityParameters",
      reason: "private networks are not offered.",
    });
  if (authParameters === undefined) throw fault(ErrorReason.PARAMETER_NOT_VALID, { parameter: "AuthParameters" });
  refuseAuthParameters(authorizationType, authParameters);
  const { accountId } = caller;
  const id = app.ids.uuid();
  const nowMs = BigInt(app.clock.now());
  const isOAuth = authorizationType === ConnectionAuthorizationType.OAUTH_CLIENT_CREDENTIALS;
  const connection = {
    name,
    id,
    description,
    authorizationType,
    state: isOAuth ? ConnectionState.AUTHORIZING : ConnectionState.AUTHORIZED,
    kmsKeyIdentifier,
    sealedSecret: sealSecret(app.secrets, accountId, id, authParameters),
    secretId: app.ids.uuid(),
    createdMs: nowMs,
    modifiedMs: nowMs,
    authorizedMs: isOAuth ? 0n : nowMs,
    secretRevision: 1n,
  };

  await app.store.transact(async (transaction) => {
    if ((await stored.findConnection(transaction, accountId, name)) !== undefined)
      throw fault(ErrorReason.CONNECTION_ALREADY_EXISTS, { name });
    const limit = app.limits.connectionsPerAccountMax;
    const others = await stored.listConnections(transaction, accountId, { namePrefix: "", after: undefined, limit });
    if (others.length >= limit) throw fault(ErrorReason.LIMIT_EXCEEDED);
    stored.putConnection(transaction, accountId, connection);
    if (isOAuth) enqueueAuthorization(app.jobs, transaction, accountId, connection);
  });

  return {
    connectionArn: connectionArn(app.place, accountId, name, id),
    connectionState: connection.state,
    creationTime: instant(nowMs),
    lastModifiedTime: instant(nowMs),
  };
};

/** Tells a connection's settings and state. */
export const describeConnection: Operation<"describeConnection"> = async (request, { app, caller }) => {
  const { accountId } = caller;
  const connection = await app.store.read((reader) => stored.getConnection(reader, accountId, request.name));
  const parameters = openSecret(app.secrets, accountId, connection);
  return {
    ...toConnection(app, accountId, connection),
    description: connection.description,
    kmsKeyIdentifier: connection.kmsKeyIdentifier,
    ...(parameters && {
      secretArn: secretArn(app.place, accountId, connection.name, connection.secretId),
      authParameters: describeAuth(parameters),
    }),
  };
};

/** Lists the account's connections by name. */
export const listConnections: Operation<"listConnections"> = async (request, context) => {
  const { app, caller } = context;
  const { namePrefix, connectionState } = request;
  const page = pageOf(context, request, [namePrefix, String(connectionState)]);
  const options = { namePrefix: namePrefix ?? "", after: page.after, limit: page.lookFor };
  const found = await app.store.read((reader) =>
    stored.listConnections(
      reader,
      caller.accountId,
      options,
      ({ state }) => connectionState === ConnectionState.UNSPECIFIED || state === connectionState,
    ),
  );
  const { items, nextToken } = cutPage(page, found, (connection) => connection.name);
  return { connections: items.map((connection) => toConnection(app, caller.accountId, connection)), nextToken };
};

/** Deletes a connection and its secrets. */
export const deleteConnection: Operation<"deleteConnection"> = async (request, { app, caller }) => {
  const connection = await app.store.transact(async (transaction) => {
    const present = await stored.getConnection(transaction, caller.accountId, request.name);
    stored.deleteConnection(transaction, caller.accountId, request.name);
    return present;
  });
  return { ...toConnection(app, caller.accountId, connection), connectionState: ConnectionState.DELETING };
};

const toConnection = (app: Application, account: string, connection: ConnectionRecord) => ({
  connectionArn: connectionArn(app.place, account, connection.name, connection.id),
  name: connection.name,
  connectionState: connection.state,
  stateReason: connection.stateReason,
  authorizationType: connection.authorizationType,
  creationTime: instant(connection.createdMs),
  lastModifiedTime: instant(connection.modifiedMs),
  lastAuthorizedTime: instant(connection.authorizedMs),
});
