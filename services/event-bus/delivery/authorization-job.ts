import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { AuthorizationRecordSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { CreateConnectionOAuthParameters } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import { ConnectionState } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import type { JobHandler, JobPolicy, Jobs } from "../../kit/jobs/jobs.ts";
import { exponentialBackoff } from "../../kit/jobs/jobs.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import type { Transaction } from "../../kit/store/store.ts";
import type { Application } from "../application.ts";
import { openSecret } from "../encryption/connection-secret.ts";
import { findConnection, putConnection } from "../store/connection.ts";
import { SendError } from "../../kit/outgoing/http-sender.ts";
import type { OAuthTokens } from "./oauth-tokens.ts";
import { TokenError } from "./oauth-tokens.ts";

/** The kind of the jobs that fetch the first token of a connection. */
export const authorizationKind = "authorization";

/** Attempts after which a connection counts as not authorized. */
const attemptsMax = 5;

/** The handler counts its attempts itself, because the last one changes the connection. */
export const authorizationPolicy: JobPolicy = {
  attemptsMax: Infinity,
  ageMsMax: Infinity,
  backoff: exponentialBackoff({ firstMs: 1_000, maxMs: 60_000 }),
};

/** Enqueues the first token request of a connection's secret. */
export const enqueueAuthorization = (
  jobs: Jobs,
  transaction: Transaction,
  account: string,
  connection: { readonly name: string; readonly id: string; readonly secretRevision: bigint },
): void => {
  const { name, id, secretRevision } = connection;
  const payload = toBinary(
    AuthorizationRecordSchema,
    create(AuthorizationRecordSchema, { account, connection: name, connectionId: id, secretRevision }),
  );
  jobs.enqueue(transaction, { kind: authorizationKind, owner: `connection/${account}`, payload });
};

/** Fetches a connection's first token and stores the result, unless the connection has changed in the meantime. */
export const authorizationHandler =
  (app: Pick<Application, "store" | "clock" | "keyring">, tokens: OAuthTokens): JobHandler =>
  async (job, { attempt }) => {
    const payload = fromBinary(AuthorizationRecordSchema, job.payload);
    const { account } = payload;
    const connection = await app.store.read((reader) => findConnection(reader, account, payload.connection));
    if (connection?.id !== payload.connectionId) return { done: true };
    let oauth: CreateConnectionOAuthParameters | undefined;
    try {
      oauth = openSecret(app.keyring, account, connection)?.oAuthParameters;
    } catch (error) {
      // The connection waits until its key can be used.
      if (error instanceof NamedKeyError) return { retry: true, reason: error.message };
      throw error;
    }
    if (oauth === undefined) return { done: true };

    let failure: string | undefined;
    try {
      await tokens.get(`${connection.id}/${payload.secretRevision}`, oauth);
    } catch (error) {
      if (!(error instanceof TokenError || error instanceof SendError || error instanceof TypeError)) throw error;
      const isTransient = !(error instanceof TypeError) && error.isTransient;
      if (isTransient && attempt < attemptsMax) return { retry: true, reason: error.message };
      failure = error.message;
    }

    return {
      done: true,
      apply: async (transaction) => {
        const present = await findConnection(transaction, account, payload.connection);
        if (present?.id !== payload.connectionId || present.secretRevision !== payload.secretRevision) return;
        if (present.state !== ConnectionState.AUTHORIZING) return;
        const nowMs = BigInt(app.clock.now());
        putConnection(transaction, account, {
          ...present,
          state: failure === undefined ? ConnectionState.AUTHORIZED : ConnectionState.DEAUTHORIZED,
          stateReason: failure,
          modifiedMs: nowMs,
          authorizedMs: failure === undefined ? nowMs : present.authorizedMs,
        });
      },
    };
  };
