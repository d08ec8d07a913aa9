import type { Client } from "@connectrpc/connect";

import type { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { rootCaller } from "../../kit/identity/caller.ts";
import type { Minter } from "../../kit/identity/tokens.ts";

const writeMsMax = 60_000;
const pieceBytes = 64 * 1024;

/** An object that is to be put. */
interface NewObject {
  readonly bucket: string;
  readonly key: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Puts an object in the name of an account; one of the same key is replaced. Throws ConnectError. */
export type ObjectWriter = (account: string, object: NewObject, signal: AbortSignal) => Promise<void>;

/** Puts objects by calls of the object storage service. */
export const objectWriter =
  (objects: Pick<Client<typeof ObjectStorageService>, "putObject">, minter: Minter): ObjectWriter =>
  async (account, { body, ...head }, signal) => {
    // The installation declares where it may write, so no policy of the account's users is asked.
    const token = await minter.mint({ ...rootCaller(account), isPreauthorized: true }, "object-storage");
    const options = { headers: { authorization: `Bearer ${token}` }, signal, timeoutMs: writeMsMax };
    await objects.putObject(messagesOf({ ...head, contentLength: BigInt(body.byteLength) }, body), options);
  };

/** The messages that put one object. */
async function* messagesOf<Head>(head: Head, body: Uint8Array): AsyncGenerator<Head | { readonly body: Uint8Array }> {
  yield await Promise.resolve(head);
  for (let at = 0; at < body.byteLength; at += pieceBytes) yield { body: body.subarray(at, at + pieceBytes) };
}
