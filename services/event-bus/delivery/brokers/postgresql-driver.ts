import { Socket } from "node:net";

import type { PoolClient, QueryConfig } from "pg";
import { DatabaseError, escapeIdentifier, Pool } from "pg";

import type { Broker, BrokerHost } from "../../domain/broker.ts";
import type { BrokerConnection, BrokerDriver, BrokerMessage, BrokerRefusal } from "./broker-driver.ts";
import { credentialsRefused, failed, firstOf, isUnreachable, lateShare, retry, tlsOf } from "./broker-driver.ts";
import { watchSocket } from "./received-bytes.ts";

/** Connections to one database. */
const connectionsMax = 8;
/** Bytes that a notification may have. */
const notificationBytesMax = 7_999;

/** A message that is longer than notifications may be. */
class NotificationTooLongError extends Error {
  override readonly name = "NotificationTooLongError";
}

/**
 * PostgreSQL: a message is a notification of a channel, or a row of a table with the columns `id` and `event`. A row
 * that violates a unique index is the repetition of a message that is stored, and accepted.
 */
export const postgresqlDriver: BrokerDriver = {
  async open(broker, limitMs) {
    const tls = tlsOf(broker);
    return firstOf(broker, limitMs, (host) => openAt(broker, host, tls, limitMs));
  },
  refusalOf(error) {
    if (error instanceof NotificationTooLongError) return failed("RESOURCE_LIMIT_EXCEEDED", error.message);
    const { code } = error as { readonly code?: unknown };
    return error instanceof DatabaseError && typeof code === "string" ? stateRefusal(code) : undefined;
  },
};

/** A pool of connections to one host, of which the first is made. */
const openAt = async (
  broker: Broker,
  { host, port }: BrokerHost,
  tls: ReturnType<typeof tlsOf>,
  limitMs: number,
): Promise<BrokerConnection> => {
  const pool = new Pool({
    host,
    port,
    database: broker.path === "" ? "postgres" : broker.path,
    user: broker.user ?? "postgres",
    password: broker.password ?? "",
    ssl: tls ?? false,
    application_name: "quartet",
    max: connectionsMax,
    connectionTimeoutMillis: limitMs,
    query_timeout: limitMs,
    // A database that answers says so before its connection counts as silent.
    statement_timeout: Math.floor(lateShare * limitMs),
    keepAlive: true,
    stream: () => watchSocket(new Socket()),
  });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  // A pool rejects a second end.
  let ending: Promise<void> | undefined;
  const endPool = (): Promise<void> => (ending ??= pool.end());
  // The pool makes new connections as it needs them. It is given up where another host may answer.
  const leave = (error: unknown, isSilent = false): void => {
    if (broker.hosts.length === 1 || !(isSilent || isUnreachable(error))) return;
    end();
    void endPool();
  };
  // A connection that ends while it is idle is left out of the pool.
  pool.on("error", (error) => leave(error));
  try {
    await pool.connect().then(answered);
  } catch (error) {
    await endPool();
    throw error;
  }
  return {
    async publish(message) {
      const beginMs = performance.now();
      try {
        await pool.query(statementOf(message));
      } catch (error) {
        leave(error, !(error instanceof DatabaseError) && performance.now() - beginMs >= lateShare * limitMs);
        throw error;
      }
    },
    ended,
    close: endPool,
  };
};

/** A database may hang after it has accepted a connection. Then the connection is ended. */
const answered = async (client: PoolClient): Promise<void> => {
  // The pool listens to a client only while it has it. An error that nobody listens to would end the process.
  const ignore = (): void => {};
  client.on("error", ignore);
  try {
    await client.query("select 1");
  } catch (error) {
    client.release(true);
    throw error;
  }
  client.release();
  client.off("error", ignore);
};

const statementOf = ({ place: { sort, name }, id, body }: BrokerMessage): QueryConfig => {
  if (sort === "channel") {
    if (Buffer.byteLength(body) > notificationBytesMax)
      throw new NotificationTooLongError(`A notification has at most ${notificationBytesMax} bytes.`);
    return { name: "notify", text: "select pg_notify($1, $2)", values: [name, body] };
  }
  const table = name.split(".").map(escapeIdentifier).join(".");
  return {
    text: `insert into ${table} (id, event) values ($1, $2) on conflict do nothing`,
    values: [id, body],
  };
};

/** What an SQLSTATE means, by its first characters; the first row that fits counts. */
const states: readonly (readonly [state: string, refusal: (message: string) => BrokerRefusal])[] = [
  ["28", () => credentialsRefused],
  ["3D", (message) => retry("NO_RESOURCE", message)],
  ["42501", (message) => failed("NO_PERMISSIONS", message)],
  ["42P01", (message) => failed("NO_RESOURCE", message)],
  ["3F", (message) => failed("NO_RESOURCE", message)],
  ["42", (message) => failed("INVALID_PARAMETER", message)],
  ["22", (message) => failed("INVALID_PARAMETER", message)],
  ["23", (message) => failed("INVALID_PARAMETER", message)],
  ["54", (message) => failed("RESOURCE_LIMIT_EXCEEDED", message)],
  ["57014", () => retry("TIMEOUT", "The statement did not end in time.")],
  ["", (message) => retry("ERROR_FROM_TARGET", message)],
];

const stateRefusal = (state: string): BrokerRefusal | undefined =>
  states.find(([beginning]) => state.startsWith(beginning))?.[1](`The database refused the message with ${state}.`);
