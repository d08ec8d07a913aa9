import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { ConnectionRecord, SealedSecret } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ConnectionSecretSchema, SealedSecretSchema } from "../../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { CreateConnectionAuthParameters } from "../../../gen/quartet/eventbus/v1/connection_pb.ts";
import type { Keyring } from "../../kit/keyring/keyring.ts";
import { seal, unseal } from "../../kit/keyring/sealed.ts";

/**
 * Encrypts the credentials of a connection, for this connection only, under the key that it names; without a name or
 * with an empty one, under the installation's key. Throws NamedKeyError if the key cannot be used.
 */
export const sealSecret = (
  keyring: Keyring,
  account: string,
  connection: { readonly id: string; readonly kmsKeyIdentifier?: string | undefined },
  parameters: CreateConnectionAuthParameters,
): SealedSecret => {
  const context = associatedData(account, connection.id);
  const { key, wrapped } = keyring.createDataKey(connection.kmsKeyIdentifier ?? "", context);
  const content = toBinary(ConnectionSecretSchema, create(ConnectionSecretSchema, { parameters }));
  return create(SealedSecretSchema, { wrappedKey: wrapped, content: seal(key, context, content) });
};

/**
 * Decrypts the credentials of a connection; undefined if it has been deauthorized. Throws NamedKeyError if its key
 * cannot be used now, SealBrokenError if the stored bytes are damaged.
 */
export const openSecret = (
  keyring: Keyring,
  account: string,
  connection: Pick<ConnectionRecord, "id" | "secret">,
): CreateConnectionAuthParameters | undefined => {
  if (connection.secret === undefined) return undefined;
  const context = associatedData(account, connection.id);
  const key = keyring.openDataKey(context, connection.secret.wrappedKey);
  return fromBinary(ConnectionSecretSchema, unseal(key, context, connection.secret.content)).parameters;
};

/** Moves a secret to the key of a name, unless it is under that key already. Throws NamedKeyError. */
export const moveSecret = (
  keyring: Keyring,
  account: string,
  connection: Pick<ConnectionRecord, "id" | "secret">,
  keyName: string,
): SealedSecret | undefined => {
  const { id, secret } = connection;
  if (secret === undefined || keyring.isWrappedUnder(secret.wrappedKey, keyName)) return secret;
  return { ...secret, wrappedKey: keyring.moveDataKey(associatedData(account, id), secret.wrappedKey, keyName) };
};

/** Wraps the key of a secret with the latest master key. */
export const rewrapSecret = (
  keyring: Keyring,
  account: string,
  connection: Pick<ConnectionRecord, "id">,
  secret: SealedSecret,
): SealedSecret => ({
  ...secret,
  wrappedKey: keyring.rewrap(associatedData(account, connection.id), secret.wrappedKey),
});

/** Binds the ciphertext to one connection of one account. */
const associatedData = (account: string, connectionId: string): readonly string[] => [
  "connection-secret",
  account,
  connectionId,
];
