import { create } from "@bufbuild/protobuf";

import type { ApiDestinationRecord, ConnectionRecord } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { Target } from "../../../gen/quartet/eventbus/v1/target_pb.ts";
import {
  ConnectionState,
  CreateConnectionAuthParametersSchema,
} from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import { NamedKeyError } from "../../kit/keyring/key-names.ts";
import type { Application } from "../application.ts";
import type { IdentifiedResource } from "../domain/arns.ts";
import { parseIdentifiedArn } from "../domain/arns.ts";
import { eventJson } from "../domain/envelope.ts";
import { classifyStatus } from "../domain/http-outcome.ts";
import { PathReader } from "../json/json-path.ts";
import { findKeptApiDestination, findSharedApiDestination } from "../store/api-destination.ts";
import { findConnectionByArn, findKeptConnection } from "../store/connection.ts";
import { apiRequest } from "./api-request.ts";
import type { AttemptContent } from "./attempt-content.ts";
import { attemptContent } from "./attempt-content.ts";
import { outcomeOfInputError } from "./attempt-input.ts";
import type { AttemptOutcome, Connector, DeliveryAttempt } from "./connector.ts";
import type { HttpSender } from "../../kit/outgoing/http-sender.ts";
import { outcomeOfError } from "../../kit/outgoing/http-sender.ts";
import type { OpenedSecrets } from "./opened-secrets.ts";
import type { OAuthTokens } from "./oauth-tokens.ts";
import { TokenError } from "./oauth-tokens.ts";

/** The tools with which requests to API destinations are sent. */
export interface ApiDestinationTools {
  readonly sender: HttpSender;
  readonly secrets: OpenedSecrets;
  readonly tokens: OAuthTokens;
}

/** An API destination with the connection that authorizes its requests. */
interface Endpoint {
  readonly destination: Readonly<ApiDestinationRecord>;
  readonly connection: Readonly<ConnectionRecord>;
}

/** Delivers to API destinations over HTTP. */
export const apiDestinationConnector =
  (app: Pick<Application, "store" | "clock">, tools: ApiDestinationTools): Connector =>
  async (attempt) => {
    const endpoint = keptEndpoint(app, attempt) ?? (await findEndpoint(app, attempt));
    if ("kind" in endpoint) return endpoint;
    const content = attemptContent(attempt);
    if ("kind" in content) return content;
    try {
      return await sendTo(endpoint, attempt, content, app, tools);
    } catch (error) {
      return classifyError(error);
    }
  };

/** The names in the ARNs of targets, which the deliveries of a rule share, and of connections. */
const destinationNames = new WeakMap<Target, IdentifiedResource>();
const connectionNames = new WeakMap<Readonly<ApiDestinationRecord>, IdentifiedResource>();

const destinationOf = (target: Target): IdentifiedResource | undefined =>
  destinationNames.get(target) ?? named(destinationNames, target, parseIdentifiedArn(target.arn, "api-destination"));

const connectionOf = (record: Readonly<ApiDestinationRecord>): IdentifiedResource | undefined =>
  connectionNames.get(record) ?? named(connectionNames, record, parseIdentifiedArn(record.connectionArn, "connection"));

const named = <Key extends object>(
  names: WeakMap<Key, IdentifiedResource>,
  key: Key,
  name: IdentifiedResource | undefined,
): IdentifiedResource | undefined => {
  if (name !== undefined) names.set(key, name);
  return name;
};

/** The endpoint of an attempt if it is in memory, as most are; otherwise, and if it may not be used, undefined. */
const keptEndpoint = ({ store }: Pick<Application, "store">, { account, target }: DeliveryAttempt) => {
  const name = destinationOf(target);
  const destination = name?.account === account ? findKeptApiDestination(store, account, name.name) : undefined;
  if (destination === undefined || destination.id !== name?.id) return undefined;
  const { name: connectionName = "", id } = connectionOf(destination) ?? {};
  const connection = findKeptConnection(store, account, connectionName);
  if (connection?.id !== id || connection?.state !== ConnectionState.AUTHORIZED) return undefined;
  return { destination, connection };
};

const findEndpoint = async (
  app: Pick<Application, "store">,
  { account, target }: DeliveryAttempt,
): Promise<Endpoint | AttemptOutcome> => {
  const name = destinationOf(target);
  const { destination, connection } = await app.store.read(async (reader) => {
    const found = name?.account === account ? await findSharedApiDestination(reader, account, name.name) : undefined;
    const current = found?.id === name?.id ? found : undefined;
    return {
      destination: current,
      connection: current && (await findConnectionByArn(reader, account, current.connectionArn)),
    };
  });
  if (destination === undefined)
    return { kind: "failed", code: "NO_RESOURCE", message: `${target.arn} does not exist.` };
  if (connection === undefined)
    return { kind: "failed", code: "NO_RESOURCE", message: `${destination.connectionArn} does not exist.` };
  if (connection.state === ConnectionState.AUTHORIZING)
    return { kind: "retry", code: "NO_PERMISSIONS", message: `Connection ${connection.name} is being authorized.` };
  if (connection.state !== ConnectionState.AUTHORIZED)
    return { kind: "failed", code: "NO_PERMISSIONS", message: `Connection ${connection.name} is not authorized.` };
  return { destination, connection };
};

/** Sends the request of one attempt. A token that the endpoint refuses is not used again. */
const sendTo = async (
  { destination, connection }: Endpoint,
  attempt: DeliveryAttempt,
  content: AttemptContent,
  { clock }: Pick<Application, "clock">,
  { sender, secrets, tokens }: ApiDestinationTools,
): Promise<AttemptOutcome> => {
  const auth = secrets.open(attempt.account, connection) ?? create(CreateConnectionAuthParametersSchema);
  const tokenKey = `${connection.id}/${connection.secretRevision}`;
  const { oAuthParameters: oauth } = auth;
  // Most connections have no tokens, and an await costs each delivery a microtask.
  const token = oauth && (await tokens.get(tokenKey, oauth));
  let paths: PathReader | undefined;
  const outgoing = apiRequest({
    destination,
    auth,
    token,
    parameters: attempt.target.httpParameters,
    content,
    event: () => (paths ??= new PathReader(eventJson(attempt.event))),
  });
  const answer = await sender.send(outgoing, attempt.signal);
  if (token !== undefined && (answer.status === 401 || answer.status === 407)) tokens.drop(tokenKey, token);
  return classifyStatus(answer.status, answer.retryAfter, clock.now());
};

const classifyError = (error: unknown): AttemptOutcome => {
  if (error instanceof TokenError) return { kind: "retry", code: "NO_PERMISSIONS", message: error.message };
  // The key may be enabled again before the delivery's retry policy ends.
  if (error instanceof NamedKeyError) return { kind: "retry", code: "NO_PERMISSIONS", message: error.message };
  const tooCostly = outcomeOfInputError(error);
  if (tooCostly !== undefined) return tooCostly;
  if (error instanceof TypeError)
    return { kind: "failed", code: "SDK_CLIENT_ERROR", message: `The request cannot be sent: ${error.message}.` };
  return outcomeOfError(error);
};
