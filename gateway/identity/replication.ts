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

const changesPerMessageMax = 500;

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
      for (const changes of inPieces(allOf(identities, accountId)))
        yield { changes: changes.map((change) => written(identities, accountId, change)) };
    yield { isComplete: true, sessionKey: new Uint8Array(sessionKey.export()) };
    for await (const batch of watched.batches()) {
      const changes = batch.flatMap(({ accountId, changes: made }) =>
        made.map((change) => written(identities, accountId, change)),
      );
      yield { changes, isComplete: true };
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

const written = (identities: Identities, accountId: string, { kind, name, record }: Change): IdentityChange => {
  const secret = kind === "accessKey" && record !== undefined ? identities.secretOf(accountId, name, record) : "";
  const whole = { accountId, kind, name, secret };
  if (record === undefined) return create(IdentityChangeSchema, whole);
  const bytes = toBinary(schemas[kind], record as never);
  return create(IdentityChangeSchema, { ...whole, record: bytes });
};

const allOf = (identities: Identities, accountId: string): Change[] => {
  const state = identities.state(accountId);
  return (Object.keys(schemas) as Kind[]).flatMap((kind) =>
    [...state[kind]].map(([name, record]) => ({ kind, name, record }) as unknown as Change),
  );
};

const inPieces = (changes: readonly Change[]): (readonly Change[])[] =>
  Array.from({ length: Math.ceil(changes.length / changesPerMessageMax) }, (_, at) =>
    changes.slice(at * changesPerMessageMax, (at + 1) * changesPerMessageMax),
  );

/** What the gateway that keeps identities offers to other gateways. */
export const replicationService = (app: ReplicationApplication): OfferedService => ({
  service: ReplicationService,
  handlers: { watchIdentities },
  errors: ErrorReasonSchema,
  app,
  endless: [ReplicationService.method.watchIdentities.name],
});
