import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { ConnectionRecord, SealedSecret } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ConnectionSecretSchema, SealedSecretSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { CreateConnectionAuthParameters } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import type { Keyring } from "../../kit/keyring/keyring.ts";
import { seal, unseal } from "../../kit/keyring/sealed.ts";

/**
 * Encrypts what a connection proves itself with, for this connection only, under the key that it names; none or an
 * empty name means the installation's. Throws NamedKeyError when that key cannot be used.
 */
export const sealSecret = (
  keyring: Keyring,
  account: string,
  connection: { readonly id: string; readonly kmsKeyIdentifier?: string | undefined },
  parameters: CreateConnectionAuthParameters,
): SealedSecret => {
  const place = placeOf(account, connection.id);
  const { key, wrapped } = keyring.createDataKey(connection.kmsKeyIdentifier ?? "", place);
  const content = toBinary(ConnectionSecretSchema, create(ConnectionSecretSchema, { parameters }));
  return create(SealedSecretSchema, { wrappedKey: wrapped, content: seal(key, place, content) });
};

/**
 * What a connection proves itself with; undefined: it has been deauthorized. Throws NamedKeyError when its key cannot be
 * used now, SealBrokenError when the stored bytes are damaged.
 */
export const openSecret = (
  keyring: Keyring,
  account: string,
  connection: Pick<ConnectionRecord, "id" | "secret">,
): CreateConnectionAuthParameters | undefined => {
  if (connection.secret === undefined) return undefined;
  const place = placeOf(account, connection.id);
  const key = keyring.openDataKey(place, connection.secret.wrappedKey);
  return fromBinary(ConnectionSecretSchema, unseal(key, place, connection.secret.content)).parameters;
};

/** The same secret under the key that is named, unless it is under that one already. Throws NamedKeyError. */
export const moveSecret = (
  keyring: Keyring,
  account: string,
  connection: Pick<ConnectionRecord, "id" | "secret">,
  keyName: string,
): SealedSecret | undefined => {
  const { id, secret } = connection;
  if (secret === undefined || keyring.isWrappedUnder(secret.wrappedKey, keyName)) return secret;
  return { ...secret, wrappedKey: keyring.moveDataKey(placeOf(account, id), secret.wrappedKey, keyName) };
};

/** The same secret, its key wrapped with the latest master key. */
export const rewrapSecret = (
  keyring: Keyring,
  account: string,
  connection: Pick<ConnectionRecord, "id">,
  secret: SealedSecret,
): SealedSecret => ({
  ...secret,
  wrappedKey: keyring.rewrap(placeOf(account, connection.id), secret.wrappedKey),
});

const placeOf = (account: string, connectionId: string) => ["connection-secret", account, connectionId];
