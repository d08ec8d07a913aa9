import type { KeyObject } from "node:crypto";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import {
  AccessKeyRecordSchema,
  AccountRecordSchema,
  GroupRecordSchema,
  InstanceProfileRecordSchema,
  OpenIdConnectProviderRecordSchema,
  PolicyRecordSchema,
  RoleRecordSchema,
  UserRecordSchema,
} from "../../gen/quartet/identity/storage/v1/records_pb.ts";
import type { IdentityChange, WatchIdentitiesRequest } from "../../gen/quartet/identity/v1/replication_service_pb.ts";
import type { WatchIdentitiesResponseSchema } from "../../gen/quartet/identity/v1/replication_service_pb.ts";
import { ErrorReasonSchema } from "../../gen/quartet/identity/v1/error_reason_pb.ts";
import { IdentityChangeSchema, ReplicationService } from "../../gen/quartet/identity/v1/replication_service_pb.ts";
import { recordDecision } from "../../services/kit/access/decision-recorder.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import type { CallContext } from "../../services/kit/server/handlers.ts";
import type { OfferedService } from "../../services/kit/server/route.ts";
import type { Change, Kind } from "./domain/account-state.ts";
import { ErrorReason, fault } from "./faults.ts";
import type { Identities } from "./identities.ts";
import { watchChanges } from "./watched-changes.ts";

/** What the service that other gateways follow works with. */
export interface ReplicationApplication {
  readonly identities: Identities;
  readonly sessionKey: KeyObject;
  readonly clock: Clock;
}

/** Changes of one message, and their bytes but for the last one: whoever follows accepts 16 MiB. */
const changesPerMessageMax = 500;
const messageBytesMax = 1024 * 1024;

const schemas = {
  account: AccountRecordSchema,
  user: UserRecordSchema,
  group: GroupRecordSchema,
  role: RoleRecordSchema,
  policy: PolicyRecordSchema,
  accessKey: AccessKeyRecordSchema,
  identityProvider: OpenIdConnectProviderRecordSchema,
  instanceProfile: InstanceProfileRecordSchema,
};

type Message = MessageInitShape<typeof WatchIdentitiesResponseSchema>;

/**
 * Sends all identities and then each change. A change that is made while the beginning is sent may be in both; made
 * again it changes nothing. Refuses everybody but gateways, whose calls their own key has authorized: ACCESS_DENIED.
 */
async function* watchIdentities(
  _request: WatchIdentitiesRequest,
  context: CallContext<ReplicationApplication>,
): AsyncGenerator<Message> {
  const { app, caller, signal } = context;
  const { identities, sessionKey, clock } = app;
  if (caller.isPreauthorized !== true) {
    const refused = { action: "iam:WatchIdentities", resource: "*", isAllowed: false, reason: "not-a-gateway" };
    recordDecision(context, refused);
    throw fault(ErrorReason.ACCESS_DENIED, { action: "WatchIdentities", resource: "*" });
  }
  const watched = watchChanges(identities, clock, signal);
  try {
    for (const accountId of identities.accountIds())
      for (const changes of inPieces(identities, allOf(identities, accountId))) yield { changes };
    yield { isComplete: true, sessionKey: new Uint8Array(sessionKey.export()) };
    for await (const batch of watched.batches()) {
      const all = batch.flatMap(({ accountId, changes }) => changes.map((change) => ({ accountId, change })));
      for (const changes of inPieces(identities, all)) yield { changes, isComplete: true };
      if (all.length === 0) yield { isComplete: true };
    }
  } finally {
    watched.stop();
  }
}

/** A change as it was written by `watchIdentities`; undefined for a kind that only a later version knows. */
export const readChange = (change: IdentityChange): Change | undefined => {
  const { kind, name, record } = change;
  if (!Object.hasOwn(schemas, kind)) return undefined;
  const read = record === undefined ? undefined : fromBinary(schemas[kind as Kind], record);
  return { kind, name, record: read } as unknown as Change;
};

/** An access key of which the secret is damaged is written as a deleted one. */
const written = (identities: Identities, accountId: string, { kind, name, record }: Change): IdentityChange => {
  const secret = kind === "accessKey" && record !== undefined ? identities.secretOf(accountId, name, record) : "";
  const whole = { accountId, kind, name, secret: secret ?? "" };
  if (record === undefined || secret === undefined) return create(IdentityChangeSchema, whole);
  const bytes = toBinary(schemas[kind], record as never);
  return create(IdentityChangeSchema, { ...whole, record: bytes });
};

/** A change and the account in which it was made. */
interface ChangeOfAccount {
  readonly accountId: string;
  readonly change: Change;
}

const allOf = (identities: Identities, accountId: string): ChangeOfAccount[] => {
  const state = identities.state(accountId);
  return (Object.keys(schemas) as Kind[]).flatMap((kind) =>
    [...state[kind]].map(([name, record]) => ({ accountId, change: { kind, name, record } as unknown as Change })),
  );
};

/** The changes as they are written, in the pieces of messages, each made when it is asked for. */
function* inPieces(identities: Identities, changes: readonly ChangeOfAccount[]): Generator<IdentityChange[]> {
  let piece: IdentityChange[] = [];
  let bytes = 0;
  for (const { accountId, change } of changes) {
    const next = written(identities, accountId, change);
    piece.push(next);
    bytes += next.record?.byteLength ?? 0;
    if (piece.length < changesPerMessageMax && bytes < messageBytesMax) continue;
    yield piece;
    piece = [];
    bytes = 0;
  }
  if (piece.length > 0) yield piece;
}

/** What the gateway that keeps identities offers to other gateways. */
export const replicationService = (app: ReplicationApplication): OfferedService => ({
  service: ReplicationService,
  handlers: { watchIdentities },
  errors: ErrorReasonSchema,
  app,
  endless: [ReplicationService.method.watchIdentities.name],
});
