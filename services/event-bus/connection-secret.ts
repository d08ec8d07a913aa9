import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import type { ConnectionRecord } from "../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import { ConnectionSecretSchema } from "../../gen/quartet/eventbus/storage/v1/records_pb.ts";
import type { CreateConnectionAuthParameters } from "../../gen/quartet/eventbus/v1/connection_pb.ts";
import type { SecretBox } from "./secrets/secret-box.ts";

/** Encrypts what a connection proves itself with, bound to this connection. */
export const sealSecret = (
  secrets: SecretBox,
  account: string,
  connectionId: string,
  parameters: CreateConnectionAuthParameters,
): Uint8Array =>
  secrets.seal(
    ownerOf(account, connectionId),
    toBinary(ConnectionSecretSchema, create(ConnectionSecretSchema, { parameters })),
  );

/** What a connection proves itself with; undefined: it has been deauthorized. Throws when the stored bytes are damaged. */
export const openSecret = (
  secrets: SecretBox,
  account: string,
  connection: ConnectionRecord,
): CreateConnectionAuthParameters | undefined => {
  if (connection.sealedSecret.byteLength === 0) return undefined;
  const opened = secrets.open(ownerOf(account, connection.id), connection.sealedSecret);
  return fromBinary(ConnectionSecretSchema, opened).parameters;
};

const ownerOf = (account: string, connectionId: string): string => `connection/${account}/${connectionId}`;
