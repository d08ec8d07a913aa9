/**
 * Connections. Their secrets are stored encrypted and never returned.
 *
 * CreateConnection checks, in order:
 * 1. no private network is named;
 * 2. the parameters fit the type of authorization;
 * 3. the encryption key can be used;
 * 4. the name is not in use;
 * 5. the account has fewer connections than the limit.
 *
 * UpdateConnection checks, in order:
 * 1. no private network is named;
 * 2. the connection exists;
 * 3. its encryption key, if the secret is needed, and the new one can be used;
 * 4. the parameters are complete and fit the type of authorization.
 *
 * The other operations fail if the connection does not exist. DescribeConnection also fails if its key cannot be used.
 */
import { create } from "@bufbuild/protobuf";

import type { ConnectionRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { CreateConnectionAuthParameters } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import {
  ConnectionAuthorizationType,
  ConnectionState,
  UpdateConnectionAuthParametersSchema,
} from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import { findOrDamaged } from "../../kit/store/damage.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application, Operation } from "../application.ts";
import { enqueueAuthorization } from "../delivery/authorization-job.ts";
import { connectionArn, secretArn } from "../domain/arns.ts";
import { describeAuth, refuseAuthParameters, refuseIncomplete, updateAuthParameters } from "../domain/connection.ts";
import { instant } from "../domain/instant.ts";
import { moveSecret, openSecret, sealSecret } from "../encryption/connection-secret.ts";
import { ErrorReason, fault } from "../faults.ts";
import * as stored from "../store/connection.ts";

/** Creates a connection. A second call with the same name is refused and changes nothing. */
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
    secret: sealSecret(app.keyring, accountId, { id, kmsKeyIdentifier }, authParameters),
    secretId: app.ids.uuid(),
    createdMs: nowMs,
    modifiedMs: nowMs,
    authorizedMs: nowMs,
    secretRevision: 1n,
  };

  await app.store.transact(async (transaction) => {
    if ((await stored.findConnection(transaction, accountId, name)) !== undefined)
      throw fault(ErrorReason.CONNECTION_ALREADY_EXISTS, { name });
    const limit = app.limits.connectionsMax;
    if ((await stored.countConnections(transaction, accountId)) >= limit) throw fault(ErrorReason.LIMIT_EXCEEDED);
    await stored.createConnection(transaction, accountId, connection);
    if (isOAuth) enqueueAuthorization(app.jobs, transaction, accountId, connection);
  });

  return {
    connectionArn: connectionArn(app.arnScope, accountId, name, id),
    connectionState: connection.state,
    creationTime: instant(nowMs),
    lastModifiedTime: instant(nowMs),
  };
};

/** Returns the settings and the state of a connection. */
export const describeConnection: Operation<"describeConnection"> = async (request, { app, caller }) => {
  const { accountId } = caller;
  const connection = await app.store.read((reader) =>
    stored.getConnection(reader, accountId, request.name, "Failed to describe the connection(s). "),
  );
  const parameters = openSecret(app.keyring, accountId, connection);
  return {
    ...toConnection(app, accountId, connection),
    description: connection.description,
    kmsKeyIdentifier: connection.kmsKeyIdentifier,
    ...(parameters && {
      secretArn: secretArn(app.arnScope, accountId, connection.name, connection.secretId),
      authParameters: describeAuth(parameters),
    }),
  };
};

/** Lists the account's connections by name. */
export const listConnections: Operation<"listConnections"> = async (request, context) => {
  const { app, caller } = context;
  const { namePrefix, connectionState } = request;
  const page = app.pages.open(context, request, [namePrefix, String(connectionState)]);
  const options = { namePrefix: namePrefix ?? "", after: page.after, limit: page.lookFor };
  const found = await app.store.read((reader) =>
    stored.listConnections(
      reader,
      caller.accountId,
      options,
      ({ state }) => connectionState === ConnectionState.UNSPECIFIED || state === connectionState,
    ),
  );
  const { items, nextToken } = page.cut(found, (connection) => connection.name);
  return { connections: items.map((connection) => toConnection(app, caller.accountId, connection)), nextToken };
};

/** Changes the given settings. A connection whose secret or type changes is authorized again. */
export const updateConnection: Operation<"updateConnection"> = async (request, { app, caller }) => {
  const { accountId } = caller;
  const { name, authParameters, description, kmsKeyIdentifier } = request;
  if (request.invocationConnectivityParameters !== undefined || authParameters?.connectivityParameters !== undefined)
    throw fault(ErrorReason.PARAMETER_REFUSED, {
      parameter: "InvocationConnectivityParameters",
      reason: "private networks are not offered.",
    });
  return app.store.transact(async (transaction) => {
    const present = await stored.getConnection(transaction, accountId, name);
    const type = request.authorizationType || present.authorizationType;
    const changed = {
      ...present,
      description: description ?? present.description,
      kmsKeyIdentifier: kmsKeyIdentifier ?? present.kmsKeyIdentifier,
      modifiedMs: BigInt(app.clock.now()),
    };
    if (authParameters !== undefined || type !== present.authorizationType) {
      const update = authParameters ?? create(UpdateConnectionAuthParametersSchema);
      const parameters = updateAuthParameters(type, openSecret(app.keyring, accountId, present), update);
      refuseIncomplete(parameters);
      refuseAuthParameters(type, parameters);
      authorizeAgain(app, transaction, accountId, Object.assign(changed, { authorizationType: type }), parameters);
    }
    if (kmsKeyIdentifier !== undefined) changed.secret = moveSecret(app.keyring, accountId, changed, kmsKeyIdentifier);
    stored.putConnection(transaction, accountId, changed);
    return toConnection(app, accountId, changed);
  });
};

/** Removes the credentials of a connection. */
export const deauthorizeConnection: Operation<"deauthorizeConnection"> = async (request, { app, caller }) => {
  const connection = await app.store.transact(async (transaction) => {
    const present = await stored.getConnection(transaction, caller.accountId, request.name);
    const changed = {
      ...present,
      state: ConnectionState.DEAUTHORIZED,
      stateReason: undefined,
      secret: undefined,
      secretRevision: present.secretRevision + 1n,
      modifiedMs: BigInt(app.clock.now()),
    };
    stored.putConnection(transaction, caller.accountId, changed);
    return changed;
  });
  return toConnection(app, caller.accountId, connection);
};

/** Sets a connection's new secret and the state before it is authorized. */
const authorizeAgain = (
  app: Application,
  transaction: Transaction,
  account: string,
  connection: ConnectionRecord,
  parameters: CreateConnectionAuthParameters,
): void => {
  const isOAuth = connection.authorizationType === ConnectionAuthorizationType.OAUTH_CLIENT_CREDENTIALS;
  connection.secret = sealSecret(app.keyring, account, connection, parameters);
  connection.secretRevision += 1n;
  connection.stateReason = undefined;
  connection.state = isOAuth ? ConnectionState.AUTHORIZING : ConnectionState.AUTHORIZED;
  if (isOAuth) enqueueAuthorization(app.jobs, transaction, account, connection);
  else connection.authorizedMs = connection.modifiedMs;
};

/** Deletes a connection and its secrets. */
export const deleteConnection: Operation<"deleteConnection"> = async (request, { app, caller }) => {
  const connection = await app.store.transact(async (transaction) => {
    const present = await findOrDamaged(stored.getConnection(transaction, caller.accountId, request.name));
    await stored.deleteConnection(transaction, caller.accountId, request.name);
    return present;
  });
  // Nothing is known of a damaged one but its name.
  if (connection === "damaged") return { name: request.name, connectionState: ConnectionState.DELETING };
  return { ...toConnection(app, caller.accountId, connection), connectionState: ConnectionState.DELETING };
};

const toConnection = (app: Application, account: string, connection: ConnectionRecord) => ({
  connectionArn: connectionArn(app.arnScope, account, connection.name, connection.id),
  name: connection.name,
  connectionState: connection.state,
  stateReason: connection.stateReason,
  authorizationType: connection.authorizationType,
  creationTime: instant(connection.createdMs),
  lastModifiedTime: instant(connection.modifiedMs),
  lastAuthorizedTime: instant(connection.authorizedMs),
});
