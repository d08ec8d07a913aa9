import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";

import type { AccessKeyRecord } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import { AccessKeyRecordSchema } from "../../../gen/quartet/identity/storage/v1/records_pb.ts";
import type {
  CreateAccessKeyRequest,
  DeleteAccessKeyRequest,
  GetAccessKeyLastUsedRequest,
  ListAccessKeysRequest,
  RotateAccessKeyRequest,
  UpdateAccessKeyRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { idAlphabet } from "../../../services/kit/identity/principal-ids.ts";
import { callersOwnUser } from "../access/caller-user.ts";
import type { Context } from "../application.ts";
import type { AccountState, Change } from "../domain/account-state.ts";
import { exceeded, findDeclaredUser, getChangeable, getRecord, noSuch } from "../domain/entities.ts";
import { limits } from "../limits.ts";
import { pageOf } from "./listing.ts";

/**
 * Creates a key of a user, or of the account if its root names none. Refuses, in this order: DECLARED_ENTITY,
 * NO_SUCH_ENTITY, LIMIT_EXCEEDED.
 */
export const createAccessKey = async ({ userName }: CreateAccessKeyRequest, context: Context) => {
  const { app, caller } = context;
  const { accountId } = caller;
  const created = newAccessKey(context, accountId);
  return app.identities.change(accountId, (state) => {
    const owner = ownerIn(context, state, userName);
    if (keysOf(state, owner).length >= limits.keysPerUserMax)
      throw exceeded("access keys per user", limits.keysPerUserMax);
    const { change, accessKey } = created(owner);
    return { changes: [change], result: { accessKey } };
  });
};

/** Lists the keys of a user. Refuses: NO_SUCH_ENTITY. */
export const listAccessKeys = async (request: ListAccessKeysRequest, context: Context) => {
  const { app, caller } = context;
  const state = app.identities.state(caller.accountId);
  const name = request.userName ?? ownerName(context);
  const isDeclared = findDeclaredUser(app.accounts, caller.accountId, name) !== undefined;
  const owner = name === "" || isDeclared ? name : getRecord(state, "user", name).name;
  const all = isDeclared ? [] : keysOf(state, owner);
  const { items, ...page } = pageOf(context, request, all, ([id]) => id, [request.userName]);
  const accessKeyMetadata = items.map(([accessKeyId, record]) => ({
    userName: record.userName,
    accessKeyId,
    status: statusOf(record),
    createDate: timestampFromMs(Number(record.createdMs)),
  }));
  return { accessKeyMetadata, ...page };
};

/** Activates or deactivates a key. Refuses, in this order: DECLARED_ENTITY, NO_SUCH_ENTITY. */
export const updateAccessKey = async (
  { userName, accessKeyId = "", status }: UpdateAccessKeyRequest,
  context: Context,
) =>
  context.app.identities.change(context.caller.accountId, (state) => {
    const key = keyIn(context, state, userName, accessKeyId);
    const record = { ...key, isActive: status === "Active" };
    return { changes: [{ kind: "accessKey", name: accessKeyId, record }], result: {} };
  });

/**
 * Creates another key of the same user and deactivates this one, also where the user has as many keys as it may have;
 * one of those must be deleted before the next time. Refuses, in this order: DECLARED_ENTITY, NO_SUCH_ENTITY,
 * LIMIT_EXCEEDED.
 */
export const rotateAccessKey = async ({ userName, accessKeyId = "" }: RotateAccessKeyRequest, context: Context) => {
  const { app, caller } = context;
  const created = newAccessKey(context, caller.accountId);
  return app.identities.change(caller.accountId, (state) => {
    const key = keyIn(context, state, userName, accessKeyId);
    if (keysOf(state, key.userName).length > limits.keysPerUserMax)
      throw exceeded("access keys per user", limits.keysPerUserMax);
    const { change, accessKey } = created(key.userName);
    const former: Change = { kind: "accessKey", name: accessKeyId, record: { ...key, isActive: false } };
    return { changes: [former, change], result: { accessKey } };
  });
};

/** Deletes a key. Refuses, in this order: DECLARED_ENTITY, NO_SUCH_ENTITY. */
export const deleteAccessKey = async ({ userName, accessKeyId = "" }: DeleteAccessKeyRequest, context: Context) =>
  context.app.identities.change(context.caller.accountId, (state) => {
    keyIn(context, state, userName, accessKeyId);
    return { changes: [{ kind: "accessKey", name: accessKeyId, record: undefined }], result: {} };
  });

/** Returns the last use of a key of the account, also of a declared one. Refuses: NO_SUCH_ENTITY. */
export const getAccessKeyLastUsed = async ({ accessKeyId = "" }: GetAccessKeyLastUsedRequest, context: Context) => {
  const { app, caller } = context;
  const { accountId } = caller;
  const stored = app.identities.state(accountId).accessKey.get(accessKeyId);
  const declared = app.accounts.findAccessKey(accessKeyId);
  if (stored === undefined && declared?.accountId !== accountId) throw noSuch("access key", accessKeyId);
  const userName = stored?.userName ?? declared?.user ?? "";
  const use = await app.keyUses.find(accountId, accessKeyId);
  return {
    ...(userName === "" ? {} : { userName }),
    accessKeyLastUsed: {
      ...(use === undefined ? {} : { lastUsedDate: timestampFromMs(Number(use.usedMs)) }),
      serviceName: use?.service ?? "N/A",
      region: use?.region ?? "N/A",
    },
  };
};

/** Makes a key, whose owner is decided on with the state. The secret is in the result and, sealed, in the change. */
export const newAccessKey = ({ app }: Pick<Context, "app">, accountId: string) => {
  const accessKeyId = `AKIA${app.ids.token(16, idAlphabet)}`;
  const secretAccessKey = app.ids.token(40);
  const sealedSecret = app.identities.sealSecret(accountId, accessKeyId, secretAccessKey);
  const createdMs = app.clock.now();
  return (userName: string) => ({
    change: {
      kind: "accessKey",
      name: accessKeyId,
      record: create(AccessKeyRecordSchema, { userName, sealedSecret, isActive: true, createdMs: BigInt(createdMs) }),
    } satisfies Change,
    accessKey: { userName, accessKeyId, status: "Active", secretAccessKey, createDate: timestampFromMs(createdMs) },
  });
};

/** The keys of a user, or with an empty name of the account. */
const keysOf = (state: AccountState, userName: string): (readonly [string, AccessKeyRecord])[] =>
  [...state.accessKey].filter(([, key]) => key.userName === userName);

/** The user's name as it is stored, and empty for the account. */
const ownerIn = (context: Context, state: AccountState, userName: string | undefined): string => {
  const { app, caller } = context;
  const name = userName ?? ownerName(context);
  return name === "" ? "" : getChangeable(app.accounts, caller.accountId, state, "user", name).name;
};

/** Whose keys are meant if no user is named: the caller's, or the account's if the caller is its root. */
const ownerName = ({ caller }: Context): string => {
  const own = callersOwnUser(caller);
  if (own === undefined && !caller.isRoot) throw noSuch("user", caller.principalArn);
  return own ?? "";
};

const keyIn = (
  context: Context,
  state: AccountState,
  userName: string | undefined,
  accessKeyId: string,
): AccessKeyRecord => {
  const owner = ownerIn(context, state, userName);
  const key = state.accessKey.get(accessKeyId);
  if (key?.userName !== owner) throw noSuch("access key", accessKeyId);
  return key;
};

const statusOf = ({ isActive }: AccessKeyRecord): string => (isActive ? "Active" : "Inactive");
